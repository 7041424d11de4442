package setup

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim"
)

// This file turns parts of a spec's world into what the simulator knows.

// samples are the times, or those in the file.
func (o *Overheads) samples() (s sim.Overheads, err error) {
	if o.File != "" && (o.Hot != nil || o.Cold != nil || o.First != nil) {
		return s, errors.New("a file and times besides; want one of them")
	}
	if o.File != "" {
		return readOverheads(o.File)
	}
	for _, of := range []struct {
		from *Time
		to   *[]cluster.Time
	}{{o.Hot, &s.Hot}, {o.Cold, &s.Cold}, {o.First, &s.First}} {
		if of.from != nil {
			*of.to = []cluster.Time{cluster.Time(*of.from)}
		}
	}
	return s, nil
}

// readOverheads reads a file with one sample a line.
func readOverheads(path string) (o sim.Overheads, err error) {
	file, err := os.Open(path)
	if err != nil {
		return o, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	lines, number := bufio.NewScanner(file), 1
	for ; lines.Scan(); number++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 {
			continue
		}
		seconds, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil || !(seconds >= 0 && seconds <= 1e9) || len(fields) > 2 {
			return o, fmt.Errorf("%s:%d: want 'hot SECONDS', 'cold SECONDS', 'first SECONDS' or 'SECONDS', got %q", path, number, lines.Text())
		}
		keys := []string{"hot", "cold"}
		if len(fields) == 2 {
			keys = fields[:1]
		}
		for _, key := range keys {
			if err := o.Add(key, cluster.Time(math.Round(seconds*1e6))); err != nil {
				return o, fmt.Errorf("%s:%d: %w", path, number, err)
			}
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return o, fmt.Errorf("%s:%d: a line of more than %d bytes, want one such as 'hot 2.5'", path, number, bufio.MaxScanTokenSize)
	} else if err != nil {
		return o, fmt.Errorf("%s:%d: %w", path, number, err)
	}
	return o, nil
}

// sim is what nodes measure.
func (u *Usage) sim() (sim.Usage, error) {
	if *u == (Usage{}) {
		return sim.Usage{}, nil
	}
	is := sim.DefaultUsage()
	if u.Every != nil {
		is.Every = cluster.Time(*u.Every)
		if is.Every == 0 {
			return is, errors.New("every=0, want a time such as 30s")
		}
	}
	for _, of := range []struct{ from, to *int }{{u.Least, &is.Least}, {u.Most, &is.Most}, {u.Noise, &is.Noise}} {
		if of.from != nil {
			*of.to = *of.from
		}
	}
	return is, is.Validate()
}

// sim is what goes wrong.
func (f *Faults) sim() (sim.Faults, error) {
	switch {
	case f.Preset == none && *f == Faults{Preset: none}:
		return sim.Faults{}, nil
	case f.Preset == hostile && *f == Faults{Preset: hostile}:
		return sim.Hostile(), nil
	case f.Preset != "":
		return sim.Faults{}, fmt.Errorf("preset %q, want %s or %s and nothing besides it, or no preset", f.Preset, hostile, none)
	}
	if err := check(f.parts()); err != nil {
		return sim.Faults{}, err
	}
	is := sim.Faults{
		NodeLoss: cluster.Time(f.NodeLoss), Down: cluster.Time(f.Down), BindRefused: f.BindRefused, BindLate: f.BindLate,
		EvictLate: f.EvictLate, EvictRefused: f.EvictRefused, Grace: cluster.Time(f.Grace), Twice: f.Twice, Late: f.Late, Foreign: cluster.Time(f.Foreign),
	}
	return is, is.Validate()
}

// mostTurns is how many nodes one after the other may get the same tier.
const mostTurns = 1_000_000

// parseTiers reads how many nodes in turn get each tier, such as 5/5/5; nil if the text
// is empty.
func parseTiers(text string) ([]int, error) {
	if text == "" {
		return nil, nil
	}
	wrong := fmt.Errorf("%q, want a number from 0 to %d for each of the tiers high, average and low, not all 0, such as 5/5/5", text, mostTurns)
	parts := strings.Split(text, "/")
	if len(parts) != cluster.Levels {
		return nil, wrong
	}
	var counts []int
	sum := 0
	for _, part := range parts {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 0 || n > mostTurns {
			return nil, wrong
		}
		counts = append(counts, n)
		sum += n
	}
	if sum == 0 {
		return nil, wrong
	}
	return counts, nil
}

// Bounds of prices.
const (
	priceUnits = 1_000_000 // in 1 of a price
	mostPrice  = 100_000
	mostPrices = 64
)

// parsePrices reads what an hour of a node costs, a list such as provider=aws:0.192,other:0.1; nil if the text is empty.
func parsePrices(text string) ([]sim.Price, error) {
	if text == "" {
		return nil, nil
	}
	var prices []sim.Price
	seen := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		at := strings.LastIndex(part, ":")
		if at < 0 {
			return nil, fmt.Errorf("%q, want LABEL=VALUE:PRICE or other:PRICE, such as provider=aws:0.192", part)
		}
		which := strings.TrimSpace(part[:at])
		hour, err := strconv.ParseFloat(strings.TrimSpace(part[at+1:]), 64)
		if err != nil || !(hour == 0 || hour*priceUnits >= 1 && hour <= mostPrice) {
			return nil, fmt.Errorf("%q, want the price of an hour behind the last colon, 0 or from 0.000001 to %d", part, mostPrice)
		}
		price := sim.Price{Hour: int64(math.Round(hour * priceUnits))}
		if which != "other" {
			var is bool
			if price.Key, price.Value, is = strings.Cut(which, "="); !is || price.Key == "" {
				return nil, fmt.Errorf("%q, want LABEL=VALUE:PRICE or other:PRICE, such as provider=aws:0.192", part)
			}
		}
		switch name := price.Name(); {
		case seen[name]:
			return nil, fmt.Errorf("%s has two prices", name)
		case seen["other"]:
			return nil, fmt.Errorf("%s after other, which is the price of all nodes that are left; put it last", name)
		case len(prices) == mostPrices:
			return nil, fmt.Errorf("more than %d prices", mostPrices)
		default:
			seen[name] = true
		}
		prices = append(prices, price)
	}
	return prices, nil
}
