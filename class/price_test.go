package class

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/wide"
)

// Amounts against arithmetic of any size.
func TestPricesAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Price{
			UnitHour: Money(rapid.Int64Range(0, int64(mostPrice)).Draw(t, "unit hour")),
			Urgency:  cluster.Share(rapid.Int64Range(0, int64(mostShare)).Draw(t, "urgency")),
			Copy:     cluster.Share(rapid.Int64Range(0, int64(mostShare)).Draw(t, "copy")),
		}
		perUnit := rapid.SampledFrom([]int64{0, 1, 1000, 1_000_000, 1 << 45}).Draw(t, "per unit")
		isCopy := rapid.Bool().Draw(t, "copy of another")
		var used wide.Number
		exact := new(big.Int)
		for range rapid.IntRange(0, 4).Draw(t, "runs") {
			quantity := rapid.Int64Range(0, 1<<rapid.IntRange(0, 45).Draw(t, "bits")).Draw(t, "quantity")
			spent := rapid.Int64Range(0, 1<<rapid.IntRange(0, 55).Draw(t, "bits of time")).Draw(t, "spent")
			used = used.Plus(wide.Product(quantity, spent))
			exact.Add(exact, new(big.Int).Mul(big.NewInt(quantity), big.NewInt(spent)))
		}
		most := big.NewInt(int64(mostMoney))
		capped := func(n *big.Int) *big.Int {
			if n.Cmp(most) > 0 {
				return most
			}
			return n
		}
		exact.Mul(exact, big.NewInt(int64(p.UnitHour)))
		per := new(big.Int).Mul(big.NewInt(max(perUnit, 1)), big.NewInt(int64(cluster.Hour)))
		if isCopy {
			exact.Mul(exact, big.NewInt(int64(p.Copy)))
			per.Mul(per, big.NewInt(int64(cluster.Whole)))
		}
		units := capped(new(big.Int).Quo(exact, per))
		c := p.Charge(used, perUnit, isCopy)
		if got := int64(c.Units + c.Copies); got != units.Int64() || isCopy && c.Units != 0 || !isCopy && c.Copies != 0 {
			t.Errorf("charge %+v, want %v for units", c, units)
		}
		exact.Mul(exact, big.NewInt(int64(p.Urgency)))
		per.Mul(per, big.NewInt(int64(cluster.Whole)))
		if want := capped(exact.Quo(exact, per)); int64(c.Urgency) != want.Int64() {
			t.Errorf("%v for urgency, want %v", c.Urgency, want)
		}
	})
}

// A surcharge is a share of what was used, not of an amount that is already rounded: a
// hundred times a core-second at 1 are 0.027777, and not a hundred times 0.000277.
func TestSurchargesAreRoundedOnce(t *testing.T) {
	second := wide.Product(1, int64(cluster.Second))
	p := Price{UnitHour: One, Urgency: mostShare, Tier: mostShare, Copy: mostShare}
	if got, want := p.Charge(second, 1, false), (Charge{Units: 277, Urgency: 27_777, Tier: 27_777}); got != want {
		t.Errorf("charge %+v, want %+v", got, want)
	}
	if got, want := p.Charge(second, 1, true), (Charge{Copies: 27_777, Urgency: 2_777_777, Tier: 2_777_777}); got != want {
		t.Errorf("charge of a copy %+v, want %+v", got, want)
	}
}

// The table of credits as the specification has it (qos.md §10), for silver, σ = 0.9.
func TestCredits(t *testing.T) {
	table := Google()
	account := func(running, waiting cluster.Time) cluster.Account {
		return cluster.Account{Running: running, Waiting: waiting}
	}
	for _, c := range []struct {
		class            cluster.ClassID
		running, waiting cluster.Time
		back             cluster.Share
	}{
		{1, 900_000, 100_000, 0},
		{1, 899_999, 100_001, cluster.Whole / 10},
		{1, 891_000, 109_000, cluster.Whole / 10},
		{1, 890_999, 109_001, cluster.Whole * 3 / 10},
		{1, 855_000, 145_000, cluster.Whole * 3 / 10},
		{1, 854_999, 145_001, cluster.Whole},
		{1, 0, 1, cluster.Whole},
		{1, 0, 0, 0},
		{0, cluster.Hour, cluster.Second, 0}, // a tick of the authors' simulator
		{0, cluster.Hour, cluster.Second + 1, cluster.Whole / 10},
		{2, cluster.Hour, cluster.Hour, 0},
		{2, cluster.Hour, cluster.Hour + 1, cluster.Whole / 10},
	} {
		if back := table.Classes[c.class].creditFor(table.Credits, account(c.running, c.waiting)); back != c.back {
			t.Errorf("%s, %d running and %d waiting: %v given back, want %v", table.Classes[c.class].Name, c.running, c.waiting, back, c.back)
		}
	}
	for _, c := range []struct {
		account cluster.Account
		kept    bool
	}{
		{cluster.Account{Overhead: cluster.Minute}, true}, // it begins for the first time
		{cluster.Account{Waiting: cluster.Second, Overhead: cluster.Minute}, true},
		{cluster.Account{Waiting: cluster.Second + 1, Overhead: cluster.Minute}, false},
		{cluster.Account{Waiting: cluster.Second, Overhead: cluster.Minute, Restarting: 1}, false},
	} {
		c.account.Running = cluster.Hour
		if kept := table.Classes[0].Kept(c.account); kept != c.kept {
			t.Errorf("gold with %+v: kept is %t", c.account, kept)
		}
	}
	if owed := table.Classes[1].Owed(account(0, 100), cluster.Never); owed != 90 {
		t.Errorf("silver is owed %d of 100, want 90", owed)
	}
	if owed := table.Classes[1].Owed(account(0, 100), 7); owed != 7 {
		t.Errorf("silver with 7 of work is owed %d, want that", owed)
	}
}

// A better promise costs more, in each dimension.
func TestPriceOf(t *testing.T) {
	last := Money(0)
	for level := cluster.BestEffort; level <= cluster.Premium; level++ {
		p := PriceOf(&cluster.Class{Urgency: level, Tier: level})
		sum := p.Charge(wide.Product(1, int64(cluster.Hour)), 1, false).Sum()
		if sum <= last {
			t.Errorf("level %d costs %v an hour, the one below %v", level, sum, last)
		}
		last = sum
	}
	google := Google()
	for i := 1; i < len(google.Classes); i++ {
		if google.Classes[i].Price.UnitHour >= google.Classes[i-1].Price.UnitHour {
			t.Errorf("%s costs no less than %s", google.Classes[i].Name, google.Classes[i-1].Name)
		}
	}
}

func TestCheckPrices(t *testing.T) {
	if err := Google().CheckPrices(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Table){
		`class "silver": price: unit_hour is -1`:    func(t *Table) { t.Classes[1].Price.UnitHour = -One },
		`class "gold": price: tier is 101`:          func(t *Table) { t.Classes[0].Price.Tier = 101 * cluster.Whole },
		"credits[2]: attained is 0.995 after 0.99":  func(t *Table) { t.Credits[2].Attained = 995_000 },
		"credits[3]: back is 0.2 after 0.3":         func(t *Table) { t.Credits[3].Back = cluster.Whole / 5 },
		"credits[0]: back is 0.1 where all was att": func(t *Table) { t.Credits[0].Back = cluster.Whole / 10 },
		"credits[1]: back is 1.1":                   func(t *Table) { t.Credits[1].Back = 1_100_000 },
		"credits[3]: attained is 0.5, want 0 in":    func(t *Table) { t.Credits[3].Attained = cluster.Whole / 2 },
		"credits[0]: attained is 1.000001, want 0 ": func(t *Table) { t.Credits[0].Attained = cluster.Whole + 1 },
	} {
		table := Google()
		change(table)
		if err := table.CheckPrices(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s…", err, want)
		}
	}
}

func TestPricedKind(t *testing.T) {
	kinds := []cluster.Kind{{Name: "cpu"}, {Name: "memory"}}
	for priced, want := range map[string]string{
		"":       "0 <nil>",
		"memory": "1 <nil>",
		"memry":  "0 priced: no node has the kind memry; there are cpu, memory",
		"gpu":    "0 priced: no node has the kind gpu; there are cpu, memory",
	} {
		table := &Table{Priced: priced}
		if got := fmt.Sprintln(table.PricedKind(kinds)); got != want+"\n" {
			t.Errorf("%q: %s, want %s", priced, got, want)
		}
	}
}

// TestSumsStop adds up more than there is: kinds without a unit make large amounts, and a
// sum of many must not turn negative.
func TestSumsStop(t *testing.T) {
	p, sum := Price{UnitHour: mostPrice, Urgency: mostShare, Tier: mostShare, Copy: mostShare}, Money(0)
	for range 1 << 12 {
		c := p.Charge(wide.Product(cluster.MaxQuantity, int64(cluster.Hour)), 1, false)
		if next := sum.Plus(c.Sum()); next < sum {
			t.Fatalf("%v and %v are %v", sum, c.Sum(), next)
		} else {
			sum = next
		}
	}
	if sum != math.MaxInt64 {
		t.Errorf("4096 times the most are %v", sum)
	}
	if all := (Charge{Units: sum, Tier: sum}).Sum(); all != math.MaxInt64 {
		t.Errorf("twice the most is %v", all)
	}
	if got := Money(3).Plus(4); got != 7 {
		t.Errorf("3 and 4 are %v", got)
	}
}
