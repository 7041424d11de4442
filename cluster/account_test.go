package cluster

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// This file holds what a class makes of an account to arithmetic that neither rounds
// nor overflows: over accounts of the histories (checkPromises is called after each of
// their steps), over random ones, and over those of the specification.

// historyClasses are classes of every kind of promise: all, a share that no binary
// fraction is, a half, nothing, and a budget beside it.
func historyClasses() []Class {
	return []Class{
		{Name: "gold", Availability: Whole, Margin: 30, Restart: 2},
		{Name: "third", Availability: 333_333, Budget: Whole - 333_333, Margin: 7},
		{Name: "bronze", Availability: Whole / 2, Budget: Whole / 10, Restart: 3},
		{Name: "none"},
	}
}

// rational is a whole number as a fraction.
func rational(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

// floor is r rounded down.
func floor(r *big.Rat) *big.Int {
	quotient, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	if rest.Sign() < 0 {
		quotient.Sub(quotient, big.NewInt(1))
	}
	return quotient
}

// checkPromise recomputes what the class makes of the account: the slack as
// R/σ − (t−a) − φ − ō, whether the task may leave as o/(t−a) < budget, and the
// availability as R/(t−a). waited is the task's time that is no running.
func checkPromise(c *Class, a Account, waited Time) error {
	running, age := rational(int64(a.Running)), rational(int64(a.Running+waited))
	whole := rational(int64(Whole))
	share := floor(whole)
	if age.Sign() > 0 {
		share = floor(new(big.Rat).Mul(new(big.Rat).Quo(running, age), whole))
	}
	if got := a.Availability(); int64(got) != share.Int64() {
		return fmt.Errorf("availability of %+v is %d millionths, want %v", a, int64(got), share)
	}
	if c.Availability == 0 {
		if c.Slack(a) != Never || !c.MayLeave(a) {
			return fmt.Errorf("class %s promises nothing, and has slack %v, may leave %v", c.Name, c.Slack(a), c.MayLeave(a))
		}
		return nil
	}
	promised := new(big.Rat).Quo(rational(int64(c.Availability)), whole)
	slack := new(big.Rat).Quo(running, promised)
	for _, part := range []*big.Rat{age, rational(int64(c.Margin)), rational(int64(c.Restart))} {
		slack.Sub(slack, part)
	}
	if got := c.Slack(a); big.NewInt(int64(got)).Cmp(floor(slack)) != 0 {
		return fmt.Errorf("class %s: slack of %+v is %d us, want %v", c.Name, a, int64(got), slack.FloatString(3))
	}
	if critical := slack.Sign() < 0; critical != (c.Slack(a) < 0) {
		return fmt.Errorf("class %s: %+v is critical: %v, want %v", c.Name, a, !critical, critical)
	}
	budget := new(big.Rat).Quo(rational(int64(c.Budget)), whole)
	may := age.Sign() > 0 && new(big.Rat).Quo(rational(int64(a.Restarting)), age).Cmp(budget) < 0
	if got := c.MayLeave(a); got != may {
		return fmt.Errorf("class %s: may leave with %+v: %v, want %v", c.Name, a, got, may)
	}
	return nil
}

// checkPromises holds what classes make of every account of the state to what they make
// of the book's, by another way.
func (h *history) checkPromises() error {
	for i := range h.s.TaskRows() {
		t := h.s.Task(TaskID(i))
		if t.Phase == Absent {
			continue
		}
		spent := h.spent[t.Seq]
		account := t.Account.At(h.s.Now(), t.Phase)
		if account.Running != spent.Running || account.Restarting != spent.Restarting {
			return fmt.Errorf("task row %d has run %v of %v", i, account.Running, spent.Running)
		}
		for _, c := range historyClasses() {
			if err := checkPromise(&c, account, spent.Waiting+spent.Overhead); err != nil {
				return fmt.Errorf("task row %d: %w", i, err)
			}
		}
	}
	return nil
}

// TestPromisesAreExact draws accounts of all lengths up to a thousand years, and classes
// with shares of all sizes.
func TestPromisesAreExact(t *testing.T) {
	chance := rand.New(rand.NewPCG(7, 8))
	lengths := []Time{10, Second, Hour, 29 * Day, 1000 * 365 * Day}
	critical, relaxed, stay := 0, 0, 0
	for range 20_000 {
		most := lengths[chance.IntN(len(lengths))]
		length := func() Time { return Time(chance.Int64N(int64(most) + 1)) }
		share := func() Share {
			return []Share{1, 2, 3, 333_333, Whole / 2, Whole - 1, Whole, Share(chance.Int64N(int64(Whole))) + 1}[chance.IntN(8)]
		}
		c := Class{Name: "drawn", Availability: share(), Margin: length() / 4, Restart: length() / 4, Budget: share()}
		a := Account{Waiting: length(), Overhead: length(), Running: length()}
		a.Restarting = a.Overhead / Time(1+chance.Int64N(3))
		if earned := new(big.Rat).Quo(rational(int64(a.Running)), rational(int64(c.Availability))); floor(earned).Cmp(big.NewInt(math.MaxInt64/2/int64(Whole))) >= 0 {
			continue // more than there are microseconds: TestSlackDoesNotOverflow
		}
		if err := checkPromise(&c, a, a.Waiting+a.Overhead); err != nil {
			t.Fatal(err)
		}
		if c.Slack(a) < 0 {
			critical++
		} else {
			relaxed++
		}
		if !c.MayLeave(a) {
			stay++
		}
	}
	if critical < 2000 || relaxed < 2000 || stay < 2000 {
		t.Errorf("%d critical, %d not, %d may not leave: the draws show too little", critical, relaxed, stay)
	}
}

// TestSpecification is the exact unit test of specs/qos.md §11: "R=200,E=200: bronze
// Q=200, silver 22.22, gold 0". E is the elapsed time.
func TestSpecification(t *testing.T) {
	ran := Account{Running: 200 * Second, FirstRun: 0}
	for _, c := range []struct {
		promised Share
		want     Time
	}{
		{Whole / 2, 200 * Second}, {Whole * 9 / 10, 22_222_222}, {Whole, 0},
	} {
		k := Class{Availability: c.promised}
		if got := k.Slack(ran); got != c.want {
			t.Errorf("at a promise of %v it is %v to the violation, want %v", c.promised, got, c.want)
		}
		// "Pending: dQ/dt = −1. Running: dQ/dt = 1/σ−1" (§1), and the margin and the mean
		// overhead come off at all times: s = Q − φ − ō.
		waited := ran
		waited.Waiting += 90 * Second
		if got := k.Slack(waited); got != c.want-90*Second {
			t.Errorf("at a promise of %v, after 90 s of waiting it is %v, want %v", c.promised, got, c.want-90*Second)
		}
		k.Margin, k.Restart = 30*Second, 2_371_070
		if got := k.Slack(ran); got != c.want-32_371_070 {
			t.Errorf("at a promise of %v the slack is %v, want %v", c.promised, got, c.want-32_371_070)
		}
	}
	// "s ≥ 0 is non-critical": gold that never waited, without a margin, is not.
	if gold := (Class{Availability: Whole}); gold.Slack(ran) < 0 {
		t.Error("gold that never waited is critical")
	}
	// A gold instance that ever waited can never become non-negative again.
	gold, a := Class{Availability: Whole}, Account{Waiting: 1, Running: 29 * Day}
	if gold.Slack(a) != -1 {
		t.Errorf("gold that waited for 1 us has slack %d us after 29 days, want -1", int64(gold.Slack(a)))
	}
	if a.Availability() != Whole-1 {
		t.Errorf("and an availability of %v, want just below 1", a.Availability())
	}
}

// TestThird: a third is not a whole number of millionths, and neither is what it takes
// to keep it; what is promised is 0.333333 exactly, rounded down once.
func TestThird(t *testing.T) {
	c := Class{Availability: 333_333}
	for _, tc := range []struct{ running, age, want Time }{
		{1, 3, 0},  // 3.000003 − 3
		{1, 4, -1}, // −0.999997
		{333_333, 1_000_000, 0},
		{333_332, 1_000_000, -4}, // 999996.99… − 1000000 is −3.000003
		{100 * Day, 300 * Day, 25_920_025},
	} {
		a := Account{Running: tc.running, Waiting: tc.age - tc.running}
		if got := c.Slack(a); got != tc.want {
			t.Errorf("with %d of %d us the slack is %d us, want %d", int64(tc.running), int64(tc.age), int64(got), int64(tc.want))
		}
		if err := checkPromise(&c, a, a.Waiting); err != nil {
			t.Error(err)
		}
	}
}

// TestSlackDoesNotOverflow: at the ends of what CheckClasses lets pass and of what a
// trace can last, a slack keeps its sign.
func TestSlackDoesNotOverflow(t *testing.T) {
	years := mostMargin
	least := Class{Availability: 1, Margin: mostMargin, Restart: mostMargin, Budget: Whole}
	if err := CheckClasses([]Class{least}); err != nil {
		t.Fatal(err)
	}
	if got := least.Slack(Account{Running: years}); got <= 0 || got >= Never {
		t.Errorf("a task that ran for 1000 years of a millionth has slack %v", got)
	}
	if got, want := least.Slack(Account{Waiting: years, Overhead: years}), -4*years; got != want {
		t.Errorf("one that never ran has slack %v, want %v", got, want)
	}
	if !least.MayLeave(Account{Running: years, Overhead: years - 1, Restarting: years - 1}) {
		t.Error("half of a thousand years is not all of it")
	}
	all := Account{Overhead: years, Restarting: years}
	if least.MayLeave(all) {
		t.Error("all of a thousand years is below a budget of all")
	}
	long := Class{Availability: Whole}
	if got, want := long.Slack(Account{Running: years, Waiting: 1}), Time(-1); got != want {
		t.Errorf("slack %v, want %v", got, want)
	}
}

// TestMayLeaveIsStrict: "k may be preempted only if o/(t−a) < 1−σ (strict). Gold:
// threshold 0 ⇒ never preempted" (§6).
func TestMayLeaveIsStrict(t *testing.T) {
	silver, gold := Class{Availability: Whole * 9 / 10, Budget: Whole / 10}, Class{Availability: Whole}
	for _, c := range []struct {
		class Class
		a     Account
		want  bool
	}{
		{silver, Account{Running: 90, Overhead: 10, Restarting: 10}, false},
		{silver, Account{Running: 91, Overhead: 10, Restarting: 10}, true},
		{silver, Account{Running: 90, Overhead: 10, Restarting: 9}, true},
		{silver, Account{Running: 100}, true},
		{silver, Account{}, false}, // it has not been there for any time
		{gold, Account{Running: 29 * Day}, false},
		{gold, Account{}, false},
		{Class{}, Account{Overhead: 10, Restarting: 10}, true},
	} {
		if got := c.class.MayLeave(c.a); got != c.want {
			t.Errorf("promise %v, %+v: may leave %v, want %v", c.class.Availability, c.a, got, c.want)
		}
	}
}

func TestCheckClasses(t *testing.T) {
	for _, c := range []struct {
		class Class
		want  string
	}{
		{Class{Name: "a", Availability: -1}, `class "a": availability is -0.000001, want 0 to 1`},
		{Class{Name: "a", Availability: Whole + 1}, `class "a": availability is 1.000001, want 0 to 1`},
		{Class{Name: "a", Budget: 2 * Whole}, `class "a": budget is 2, want 0 to 1`},
		{Class{Name: "a", Tier: 4}, `class "a": tier is 4, want 0 to 3`},
		{Class{Name: "a", Replicas: -1}, `class "a": -1 replicas, want 0 or more`},
		{Class{Name: "a", Margin: -1}, `class "a": margin -0.000001s and restart 0s, want 0 to 31536000000s`},
		{Class{Name: "a", Restart: 2 * mostMargin}, `class "a": margin 0s and restart 63072000000s, want 0 to 31536000000s`},
	} {
		if err := CheckClasses([]Class{{}, c.class}); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
	if err := CheckClasses(make([]Class, 256)); err == nil || err.Error() != "256 classes, want at most 255" {
		t.Errorf("error %v", err)
	}
}
