package sim

import (
	"fmt"
	"math/rand/v2"

	"fairlead.dev/fairlead/cluster"
)

// Faults make the world hostile, as a real one is. Chances are in thousandths
// of the occasions; the zero value is a world in which everything works.
type Faults struct {
	// NodeLoss is the mean time between losses of one node; 0 is never. Down
	// is the mean time until it is back.
	NodeLoss, Down cluster.Time
	// BindRefused: a run does not begin.
	BindRefused int
	// BindLate: a run is reported refused, and begins after all later.
	BindLate int
	// EvictLate: a victim takes up to Grace to leave. EvictRefused: it stays.
	EvictLate, EvictRefused int
	Grace                   cluster.Time
	// Twice: an outcome is reported again later. Late: it is reported up to
	// Grace late, and perhaps after what came after it.
	Twice, Late int
	// Foreign is the mean time between tasks that somebody else starts on a
	// node; 0 is never.
	Foreign cluster.Time
}

// Hostile is a world in which everything that can go wrong often does.
func Hostile() Faults {
	return Faults{
		NodeLoss: 10 * cluster.Day, Down: 20 * cluster.Minute,
		BindRefused: 20, BindLate: 10, EvictLate: 500, EvictRefused: 50, Grace: 30 * cluster.Second,
		Twice: 50, Late: 50, Foreign: 5 * cluster.Minute,
	}
}

// Validate says which field is out of range.
func (f Faults) Validate() error {
	for _, fault := range []struct {
		name   string
		chance int
	}{
		{"bind-refused", f.BindRefused},
		{"bind-late", f.BindLate},
		{"evict-late", f.EvictLate},
		{"evict-refused", f.EvictRefused},
		{"twice", f.Twice},
		{"late", f.Late},
	} {
		if fault.chance < 0 || fault.chance > 900 {
			return fmt.Errorf("fault %s is %d thousandths, want 0 to 900", fault.name, fault.chance)
		}
	}
	for _, fault := range []struct {
		name string
		time cluster.Time
	}{{"node-loss", f.NodeLoss}, {"down", f.Down}, {"grace", f.Grace}, {"foreign", f.Foreign}} {
		if fault.time < 0 {
			return fmt.Errorf("fault %s is %v, want at least 0", fault.name, fault.time)
		}
	}
	return nil
}

// grace is the mean time by which something is late.
func (f Faults) grace() cluster.Time { return max(f.Grace, cluster.Second) }

// dice draws what happens by chance, in an order that depends on the run alone.
type dice struct{ source *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 0x51))} }

// falls reports whether something with the chance, in thousandths, happens. A
// chance of 0 draws nothing.
func (d dice) falls(chance int) bool { return chance > 0 && d.source.IntN(1000) < chance }

// about draws a time with the given mean, evenly from 1 µs to twice the mean.
func (d dice) about(mean cluster.Time) cluster.Time {
	return 1 + cluster.Time(d.source.Int64N(int64(2*mean)))
}

// sample draws one of the times.
func (d dice) sample(of []cluster.Time) cluster.Time {
	if len(of) == 0 {
		return 0
	}
	return of[d.source.IntN(len(of))]
}
