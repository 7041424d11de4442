package cluster

import (
	"fmt"
	"math"
	"math/bits"
)

// This file is what was promised to tasks, and how far an account is from
// breaking the promise.

// Share is a part of a whole, in millionths.
type Share int64

// Whole is the share that is everything.
const Whole Share = 1_000_000

// String prints s with only the digits it needs: "0.9".
func (s Share) String() string { return Kind{PerUnit: int64(Whole)}.Format(int64(s)) }

// Level is how much of something was promised: the levels of the SLA classes.
// 0 promises nothing.
type Level uint8

// The levels of the SLA paper, for each of its four dimensions.
const (
	BestEffort Level = iota + 1
	Advanced
	Premium
)

// Levels is how many levels there are.
const Levels = int(Premium)

// Class groups tasks that were promised the same. A field that is 0 switches
// off what it is for, but for Importance.
type Class struct {
	Name string
	// Importance orders classes; the smallest number matters most.
	Importance int32

	// Availability is the share of its time, from submission on, that a task is
	// promised to run (σ).
	Availability Share
	// Margin is how long before a violation a task is critical (φ); Restart, which
	// counts on top of it, is how long it takes on average to begin anew (ō).
	Margin, Restart Time
	// Budget is the share of its time that a task with an Availability may have spent
	// on beginning anew and still be evicted. At 0 it is never evicted.
	Budget Share
	// KeepsWork says that what an evicted task has done is not lost.
	KeepsWork bool
	// LeastRun is for how long a run is promised to go on once it has been sent out and begun: it is not evicted
	// before.
	LeastRun Time

	// Urgency orders the queue, Tier is the reputation of the nodes it may use, Size
	// is how much of a node it gets, and Redundancy how much it is worth to have
	// copies.
	Urgency, Tier, Size, Redundancy Level
	// Replicas is how many copies of a task run at once, each on a node of its own;
	// 0 is one, as 1 is.
	Replicas int32
}

// Promises reports whether tasks of the class have a target of availability.
func (c *Class) Promises() bool { return c.Availability > 0 }

// Slack is how much longer a task of the class may be without running before it is
// critical, from its account as it stands: R/σ − (t−a) − φ − ō, rounded down to
// microseconds (QoS-driven scheduling §4.1; specification §1). Below 0 it is
// critical. A class that promises nothing has all the slack there is.
func (c *Class) Slack(a Account) Time {
	if !c.Promises() {
		return Never
	}
	return c.earned(a.Running) - a.Age() - c.Margin - c.Restart
}

// earned is the time of which so much running is the promised share: R/σ.
func (c *Class) earned(running Time) Time {
	hi, lo := bits.Mul64(uint64(running), uint64(Whole))
	if hi >= uint64(c.Availability) {
		return math.MaxInt64 / 2
	}
	earned, _ := bits.Div64(hi, lo, uint64(c.Availability))
	return Time(min(earned, math.MaxInt64/2))
}

// MayLeave reports whether a task with that account may be evicted: whether the share
// of its time that it spent on beginning anew is below the budget (§4.1.4;
// specification §6).
func (c *Class) MayLeave(a Account) bool {
	if !c.Promises() {
		return true
	}
	spentHi, spentLo := bits.Mul64(uint64(a.Restarting), uint64(Whole))
	mayHi, mayLo := bits.Mul64(uint64(a.Age()), uint64(c.Budget))
	return spentHi < mayHi || spentHi == mayHi && spentLo < mayLo
}

// MaxClasses is how many classes a cluster may have at a time.
const MaxClasses = math.MaxUint8

// CheckClasses says why no cluster can have these classes.
func CheckClasses(classes []Class) error {
	if len(classes) > MaxClasses {
		return fmt.Errorf("%d classes, want at most %d", len(classes), MaxClasses)
	}
	for i := range classes {
		if err := classes[i].check(); err != nil {
			return fmt.Errorf("class %q: %w", classes[i].Name, err)
		}
	}
	return nil
}

// mostMargin bounds times of classes, so that a slack never overflows.
const mostMargin = 1000 * 365 * Day

func (c *Class) check() error {
	share := func(name string, s Share) error {
		if s < 0 || s > Whole {
			return fmt.Errorf("%s is %v, want 0 to 1", name, s)
		}
		return nil
	}
	level := func(name string, l Level) error {
		if int(l) > Levels {
			return fmt.Errorf("%s is %d, want 0 to %d", name, l, Levels)
		}
		return nil
	}
	checks := []error{
		share("availability", c.Availability), share("budget", c.Budget),
		level("urgency", c.Urgency), level("tier", c.Tier), level("size", c.Size), level("redundancy", c.Redundancy),
	}
	for _, err := range checks {
		if err != nil {
			return err
		}
	}
	switch {
	case c.Margin < 0 || c.Margin > mostMargin || c.Restart < 0 || c.Restart > mostMargin:
		return fmt.Errorf("margin %v and restart %v, want 0 to %v", c.Margin, c.Restart, mostMargin)
	case c.LeastRun < 0 || c.LeastRun > mostMargin:
		return fmt.Errorf("least run %v, want 0 to %v", c.LeastRun, mostMargin)
	case c.Replicas < 0:
		return fmt.Errorf("%d replicas, want 0 or more", c.Replicas)
	}
	return nil
}
