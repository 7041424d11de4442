package setup

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/internal/nearest"
)

// This file is parts of a spec as lists such as hot=2s,cold=8s, which is how flags and results
// have them.

// part is a part of such a list: how it is read, and as what it is written, which is empty where it
// is not there.
type part struct {
	name string
	read func(text string) error
	text func() string
}

// Parse reads a list such as hot=2s,cold=8s, or takes the text for a file.
func (o *Overheads) Parse(text string) error {
	*o = Overheads{}
	if !strings.Contains(text, "=") {
		o.File = text
		return nil
	}
	return readParts(text, "hot=2s,cold=8s", "overhead", o.parts())
}

// String is what Parse reads.
func (o *Overheads) String() string {
	if o.File != "" {
		return o.File
	}
	return writeParts(o.parts())
}

func (o *Overheads) parts() []part {
	return []part{timed("hot", &o.Hot), timed("cold", &o.Cold), timed("first", &o.First)}
}

// Parse reads a list such as every=30s,least=100.
func (u *Usage) Parse(text string) error {
	*u = Usage{}
	return readParts(text, "every=30s,noise=50", "part", u.parts())
}

// String is what Parse reads.
func (u *Usage) String() string { return writeParts(u.parts()) }

func (u *Usage) parts() []part {
	return []part{timed("every", &u.Every), thousandths("least", &u.Least), thousandths("most", &u.Most), thousandths("noise", &u.Noise)}
}

// hostile is the preset of faults.
const hostile = "hostile"

// none is the faults of a world in which nothing goes wrong.
const none = "none"

// Parse reads none, hostile, or a list such as node-loss=10d,twice=50.
func (f *Faults) Parse(text string) error {
	*f = Faults{}
	switch text {
	case none, "":
		return nil
	case hostile:
		f.Preset = hostile
		return nil
	}
	err := readParts(text, "node-loss=10d,down=20m", "fault", f.parts())
	if err != nil {
		*f = Faults{} // what is wrong was said
	}
	return err
}

// String is what Parse reads.
func (f *Faults) String() string {
	if text := f.Preset + writeParts(f.parts()); text != "" {
		return text
	}
	return none
}

func (f *Faults) parts() []part {
	return []part{
		whenever("node-loss", &f.NodeLoss), whenever("down", &f.Down), chance("bind-refused", &f.BindRefused), chance("bind-late", &f.BindLate),
		chance("evict-late", &f.EvictLate), chance("evict-refused", &f.EvictRefused), whenever("grace", &f.Grace),
		chance("twice", &f.Twice), chance("late", &f.Late), whenever("foreign", &f.Foreign),
	}
}

// Parse reads a table of hardware, a name or a file, and the list behind it, such as openb,off-after=10m,keep=1.
func (p *Power) Parse(text string) error {
	*p = Power{}
	words := strings.Split(text, ",")
	table := 1 // a file may have commas
	for table < len(words) && !strings.Contains(words[table], "=") {
		table++
	}
	if err := readParts(strings.Join(words[table:], ","), "off-after=10m,keep=1", "option", p.parts()); err != nil {
		*p = Power{} // what is wrong was said
		return fmt.Errorf("%s: %w", text, err)
	}
	p.Table = strings.Join(words[:table], ",")
	return nil
}

// UnmarshalText is Parse.
func (p *Power) UnmarshalText(text []byte) error { return p.Parse(string(text)) }

// String is what Parse reads.
func (p *Power) String() string {
	if list := writeParts(p.parts()); list != "" {
		return p.Table + "," + list
	}
	return p.Table
}

func (p *Power) parts() []part {
	return []part{timed("off-after", &p.OffAfter), timed("wake", &p.Wake), count("keep", mostKept, &p.Keep)}
}

// timed is a time that may be 0, and left out.
func timed(name string, t **Time) part {
	return part{
		name: name, text: func() string { return written(*t) },
		read: func(text string) error { *t = new(Time); return (*t).UnmarshalText([]byte(text)) },
	}
}

func written(t *Time) string {
	if t == nil {
		return ""
	}
	return t.String()
}

// whenever is a time between faults; 0 is never.
func whenever(name string, t *Time) part {
	return part{
		name: name, read: func(text string) error { return t.UnmarshalText([]byte(text)) },
		text: func() string {
			if *t == 0 {
				return ""
			}
			return t.String()
		},
	}
}

// mostChance keeps a chance, in thousandths, from being a certainty.
const mostChance = 900

// chance is one in thousandths; 0 is none.
func chance(name string, n *int) part { return count(name, mostChance, n) }

// count is a number up to a bound; 0 is none.
func count(name string, most int, n *int) part {
	return part{
		name: name, read: func(text string) (err error) {
			if *n, err = strconv.Atoi(text); err != nil || *n < 0 || *n > most {
				err = fmt.Errorf("%s=%s, want a number from 0 to %d", name, text, most)
			}
			return err
		},
		text: func() string {
			if *n == 0 {
				return ""
			}
			return strconv.Itoa(*n)
		},
	}
}

// thousandths is a share that may be 0, and left out.
func thousandths(name string, n **int) part {
	return part{
		name: name, read: func(text string) (err error) {
			*n = new(int)
			if **n, err = strconv.Atoi(text); err != nil {
				err = fmt.Errorf("%s=%s, want thousandths, a whole number", name, text)
			}
			return err
		},
		text: func() string {
			if *n == nil {
				return ""
			}
			return strconv.Itoa(**n)
		},
	}
}

// readParts reads a list of parts; what they are and an example are for errors.
func readParts(text, example, what string, parts []part) error {
	return pairs(text, example, func(key, value string) error {
		var names []string
		for _, p := range parts {
			if p.name == key {
				return p.read(value)
			}
			names = append(names, p.name)
		}
		return nearest.Unknown(what, key, names)
	})
}

// check reads each part that is there again, as a file may say of it what no list could. Errors call
// it as the file does.
func check(parts []part) error {
	var errs []error
	for _, p := range parts {
		if text := p.text(); text != "" {
			if err := p.read(text); err != nil {
				errs = append(errs, fmt.Errorf("%s: %s", strings.ReplaceAll(p.name, "-", "_"), strings.TrimPrefix(err.Error(), p.name+"=")))
			}
		}
	}
	return errors.Join(errs...)
}

// writeParts writes those parts that are there.
func writeParts(parts []part) string {
	var list []string
	for _, p := range parts {
		if text := p.text(); text != "" {
			list = append(list, p.name+"="+text)
		}
	}
	return strings.Join(list, ",")
}

// pairs reads a list such as the example, in which each key stands once.
func pairs(text, example string, each func(key, value string) error) error {
	if text == "" {
		return nil
	}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || key == "" || value == "" {
			return fmt.Errorf("%q, want a list such as %s", text, example)
		}
		if seen[key] {
			return fmt.Errorf("%s is given twice", key)
		}
		seen[key] = true
		if err := each(key, value); err != nil {
			return err
		}
	}
	return nil
}

// ParseOvercommit reads factors by kind.
func ParseOvercommit(text string) (map[string]float64, error) {
	factors := map[string]float64{}
	err := pairs(text, "cpu=1.6,memory=2", func(kind, value string) (err error) {
		factors[kind], err = strconv.ParseFloat(value, 64)
		if err != nil || factorOf(factors[kind]) == 0 {
			err = fmt.Errorf("%s=%s, want a factor from 0.001 to 1000000, such as 1.6", kind, value)
		}
		return err
	})
	return factors, err
}

// factorOf is a factor in thousandths; 0 where it is none from 0.001 to 1000000.
func factorOf(v float64) int64 {
	if !(v >= 0.001 && v <= 1e6) {
		return 0
	}
	return int64(math.Round(v * 1000))
}

// overcommit is the list of the factors.
func overcommit(thousandths map[string]int64) string {
	var list []string
	for _, kind := range slices.Sorted(maps.Keys(thousandths)) {
		list = append(list, fmt.Sprintf("%s=%g", kind, float64(thousandths[kind])/1000))
	}
	return strings.Join(list, ",")
}

// Seeds are those of runs, as in 1-10,15.
type Seeds []uint64

// mostSeeds keeps a slip of the finger from being a run without end.
const mostSeeds = 10_000

// UnmarshalText reads numbers with commas between them, and spans such as 1-10.
func (s *Seeds) UnmarshalText(text []byte) error {
	*s = nil
	named := map[uint64]bool{}
	for part := range strings.SplitSeq(string(text), ",") {
		low, high, span := strings.Cut(strings.TrimSpace(part), "-")
		if !span {
			high = low
		}
		from, errFrom := strconv.ParseUint(low, 10, 64)
		to, errTo := strconv.ParseUint(high, 10, 64)
		if errFrom != nil || errTo != nil || from > to {
			return fmt.Errorf("%q, want numbers from 0, or spans such as 1-10, with commas between them", text)
		}
		if to-from >= uint64(mostSeeds-len(*s)) {
			return fmt.Errorf("up to %s there are more than %d seeds", part, mostSeeds)
		}
		for i := range to - from + 1 {
			if named[from+i] {
				return fmt.Errorf("%d is named twice", from+i)
			}
			named[from+i] = true
			*s = append(*s, from+i)
		}
	}
	return nil
}

// MarshalText writes what UnmarshalText reads.
func (s Seeds) MarshalText() ([]byte, error) {
	var list []string
	for i := 0; i < len(s); {
		from := s[i]
		for i++; i < len(s) && s[i] == s[i-1]+1; {
			i++
		}
		part := strconv.FormatUint(from, 10)
		if to := s[i-1]; to > from {
			part += "-" + strconv.FormatUint(to, 10)
		}
		list = append(list, part)
	}
	return []byte(strings.Join(list, ",")), nil
}
