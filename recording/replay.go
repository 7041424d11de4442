package recording

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// Result is what was found in one file of a recording.
type Result struct {
	Header      Header
	Calls       int
	Rounds      int // that ran beside the world, from begin to finish
	Events      int
	Nodes       int // that were added
	Tasks       int // that were submitted
	Placements  int
	Evictions   int
	Resizes     int          // changes of what a run takes
	Ends        int          // of copies, as another one had finished
	Wrong       int          // calls with events that made no sense, then as now
	First, Last cluster.Time // of the calls
	// Cut says what is missing at the end; empty of a file that is whole.
	Cut string
	// Difference is the first call that decided differently; nil if none did.
	// What comes behind it was not replayed.
	Difference *Difference
}

// Decisions is how many decisions were recorded, as far as was read.
func (r *Result) Decisions() int { return r.Placements + r.Evictions + r.Resizes + r.Ends }

// Difference is a call that decided differently when it was replayed.
type Difference struct {
	File string
	Line int
	Call Kind
	At   cluster.Time
	// Index is the place of the first decision that differs. Recorded and
	// Replayed print it, or say that there was none.
	Index              int
	Recorded, Replayed string
}

// String says in a few lines what differs, with all names as they were recorded.
func (d *Difference) String() string { return d.Text(func(name string) string { return name }) }

// Text says in a few lines what differs; printable makes of names what whoever reads it may have, as
// report.Printable does for terminals.
func (d *Difference) Text(printable func(string) string) string {
	return fmt.Sprintf("%s:%d: %s at %v decides differently, from decision %d on:\n  recorded: %s\n  replayed: %s",
		printable(d.File), d.Line, d.Call, d.At, d.Index+1, printable(d.Recorded), printable(d.Replayed))
}

// Describe reads one file of a recording to its end, and replays nothing. The
// name stands in errors.
func Describe(in io.Reader, name string) (Result, error) {
	r, err := NewReader(in, name)
	if err != nil {
		return Result{}, err
	}
	defer r.Close()
	result := Result{Header: *r.Header()}
	for {
		c, err := r.Next()
		if errors.Is(err, io.EOF) {
			result.Cut = r.Cut()
			return result, nil
		}
		if err != nil {
			return result, err
		}
		result.count(&c)
	}
}

// Replay makes the calls of one file on a fresh core, whose policies build makes
// of what the header says, and compares the decisions. It ends at the first
// difference, which is no error. The name stands in errors and differences.
func Replay(in io.Reader, name string, build func(Lane) (sched.Policy, error)) (Result, error) {
	result, _, err := ReplayTo(in, name, cluster.Never, build)
	return result, err
}

// ReplayTo is Replay of the calls up to a moment. It returns the core as well, as it
// was then: with the rounds in flight that were.
func ReplayTo(in io.Reader, name string, at cluster.Time, build func(Lane) (sched.Policy, error)) (Result, *sched.Core, error) {
	return replay(in, name, at, build, func(*Call, *sched.Core) {})
}

// Follow is Replay, and shows each call once it was made, with what it decided now, which unlike what was
// recorded says for whom. What is shown is valid until shown returns.
func Follow(in io.Reader, name string, build func(Lane) (sched.Policy, error), shown func(*Call, *sched.Core)) (Result, error) {
	result, _, err := replay(in, name, cluster.Never, build, shown)
	return result, err
}

func replay(in io.Reader, name string, at cluster.Time, build func(Lane) (sched.Policy, error), shown func(*Call, *sched.Core)) (Result, *sched.Core, error) {
	r, err := NewReader(in, name)
	if err != nil {
		return Result{}, nil, err
	}
	defer r.Close()
	result := Result{Header: *r.Header()}
	player := player{rounds: make([]*sched.Round, len(r.Header().Lanes))}
	player.core, err = newCore(r.Header(), func(l Lane) (sched.Policy, error) {
		l.Races, l.Answers = &player.races, &player.answers
		return build(l)
	})
	if err != nil {
		return result, nil, fmt.Errorf("%s: %w", name, err)
	}
	for {
		c, err := r.Next()
		if errors.Is(err, io.EOF) {
			result.Cut = r.Cut()
			return result, player.core, nil
		}
		if err != nil {
			return result, player.core, err
		}
		if c.At > at {
			return result, player.core, nil
		}
		result.count(&c)
		if player.play(&c) != nil {
			result.Wrong++
		}
		if result.Difference = player.differ(&c); result.Difference != nil {
			result.Difference.File, result.Difference.Line = name, r.Line()
			result.Difference.Call, result.Difference.At = c.Kind, c.At
			return result, player.core, nil
		}
		c.Out = player.out
		shown(&c, player.core)
	}
}

// newCore makes the core that the header describes.
func newCore(h *Header, build func(Lane) (sched.Policy, error)) (*sched.Core, error) {
	var lanes []sched.Lane
	for _, l := range h.Lanes {
		policy, err := build(l)
		if err != nil {
			return nil, err
		}
		lanes = append(lanes, l.Of(policy))
	}
	return sched.New(cluster.NewState(h.Kinds, h.Classes), lanes...)
}

// count takes a call into the numbers.
func (r *Result) count(c *Call) {
	if r.Calls == 0 {
		r.First = c.At
	}
	r.Calls++
	r.Last = max(r.Last, c.At)
	if c.Kind == Finish {
		r.Rounds++
	}
	r.Events += len(c.In)
	for _, e := range c.In {
		switch e.(type) {
		case cluster.NodeAdded:
			r.Nodes++
		case cluster.TaskSubmitted:
			r.Tasks++
		default:
		}
	}
	for _, d := range c.Out {
		switch d.Kind {
		case sched.Place:
			r.Placements++
		case sched.Evict:
			r.Evictions++
		case sched.Resize:
			r.Resizes++
		case sched.End:
			r.Ends++
		}
	}
}

// player makes calls on a core. The reader has checked that they can be made.
type player struct {
	core    *sched.Core
	rounds  []*sched.Round // by lane
	races   Races          // of this call
	answers Answers        // of this call
	out     []sched.Decision
}

// play makes the call. Its error says which events made no sense.
func (p *player) play(c *Call) (wrong error) {
	p.out, p.races, p.answers = p.out[:0], Races{won: c.Won}, Answers{givenUp: c.GivenUp}
	switch c.Kind {
	case Snapshot, Observe, more:
		p.out, wrong = p.core.Observe(c.At, c.In, p.out)
	case Step:
		p.out, _, wrong = p.core.Step(c.At, c.In, p.out)
	case Begin:
		p.rounds[c.Lane] = p.core.Begin(c.Lane, c.At)
	case Finish:
		// When the round ran between its begin and its finish made no difference.
		p.rounds[c.Lane].Run(c.Budget)
		p.out = p.core.Finish(p.rounds[c.Lane], c.At, p.out)
	}
	return wrong
}

// differ says what the call that was just played did differently; nil if nothing.
// That races were run or left out is a difference, too, before it changes decisions, and that a solver was not asked as far as it answered.
func (p *player) differ(c *Call) *Difference {
	if !slices.EqualFunc(c.Out, p.out, sched.Decision.Equal) {
		return differ(p.core.View(), c.Out, p.out)
	}
	if ran := len(c.Won) - len(p.races.won) + p.races.beyond; ran != len(c.Won) {
		return &Difference{Index: len(c.Out), Recorded: fmt.Sprintf("%d races", len(c.Won)), Replayed: fmt.Sprintf("%d races", ran)}
	}
	if asked := p.answers.asked; asked < c.GivenUp {
		return &Difference{Index: len(c.Out), Recorded: fmt.Sprintf("integer programs, given up at model %d", c.GivenUp), Replayed: fmt.Sprintf("%d models", asked)}
	}
	return nil
}

// differ says where two lists of decisions part.
func differ(s *cluster.View, recorded, replayed []sched.Decision) *Difference {
	at := 0
	for at < min(len(recorded), len(replayed)) && recorded[at].Equal(replayed[at]) {
		at++
	}
	return &Difference{Index: at, Recorded: describe(s, recorded, at), Replayed: describe(s, replayed, at)}
}

// describe prints the decision at that place, with names where the state knows them.
func describe(s *cluster.View, list []sched.Decision, at int) string {
	if at >= len(list) {
		return "no further decision"
	}
	d := list[at]
	var b strings.Builder
	fmt.Fprintf(&b, "%s ", d.Kind)
	if int(d.Task) < s.TaskRows() && s.Task(d.Task).Phase != cluster.Absent && s.Task(d.Task).Seq == d.Seq {
		b.WriteString(s.TaskName(d.Task))
	} else {
		fmt.Fprintf(&b, "task row %d, seq %d,", d.Task, d.Seq)
	}
	preposition := "on"
	if d.Kind == sched.Evict {
		preposition = "from"
	}
	if s.NodeLive(d.Node) {
		fmt.Fprintf(&b, " %s %s", preposition, s.NodeSpec(d.Node).Name)
	} else {
		fmt.Fprintf(&b, " %s node row %d", preposition, d.Node)
	}
	fmt.Fprintf(&b, ", attempt %d (task row %d, seq %d, node row %d)", d.Attempt, d.Task, d.Seq, d.Node)
	if d.Grant != nil {
		fmt.Fprintf(&b, ", granted %d", d.Grant)
	}
	return b.String()
}
