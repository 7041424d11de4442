package sim

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim/trace"
)

// diary is the obvious rival of the series: before time goes by it counts
// everything from scratch, and writes it down. Only at the end it cuts what it
// has written into steps.
type diary struct {
	kinds   []cluster.Kind
	entries []entry
	arrived []arrival
}

// entry is how things stood from one moment to another.
type entry struct {
	from, to                                   cluster.Time
	capacity, busy                             cluster.Vector
	held                                       []cluster.Vector // by class
	pending, running, nodes, active, decisions float64
	picture                                    []byte
}

type arrival struct {
	at     cluster.Time
	demand cluster.Vector
}

// diarySource is a source whose tasks the diary writes down. It has a second kind, in
// quantities whose sums over time do not fit into 64 bits.
type diarySource struct {
	trace.Source
	diary *diary
}

func (h diarySource) Kinds() []cluster.Kind {
	return append(slices.Clone(h.Source.Kinds()), cluster.Kind{Name: "memory", PerUnit: 1 << 40})
}

func (h diarySource) Next(r *trace.Record) error {
	if err := h.Source.Next(r); err != nil {
		return err
	}
	switch r.What {
	case trace.NodeAdded:
		r.Node.Capacity = append(slices.Clone(r.Node.Capacity), 1<<45-int64(r.Node.ID))
	case trace.TaskSubmitted:
		r.Task.Demand = append(slices.Clone(r.Task.Demand), int64(r.Task.Job%5)<<42)
		h.diary.arrived = append(h.diary.arrived, arrival{r.Time, slices.Clone(r.Task.Demand)})
	default: // says nothing of amounts
	}
	return nil
}

// note writes down how things stand until the moment.
func (d *diary) note(s *simulation, to cluster.Time) {
	state := s.planner.view()
	n := len(d.kinds)
	e := entry{from: s.kernel.now, to: to, capacity: make(cluster.Vector, n), busy: make(cluster.Vector, n)}
	for range class.Google().Rows() {
		e.held = append(e.held, make(cluster.Vector, n))
	}
	for i := range state.NodeRows() {
		row := cluster.NodeID(i)
		if !state.NodeLive(row) {
			continue
		}
		e.nodes++
		add(e.capacity, state.Capacity(row), 1)
		if len(state.TasksOn(row)) > 0 {
			e.active++
		}
	}
	for i := range state.TaskRows() {
		row := cluster.TaskID(i)
		t := state.Task(row)
		if t.Phase == cluster.Absent {
			continue
		}
		switch foreign := state.Job(t.Job).Foreign; {
		case t.Placed() && !foreign:
			e.running++
		case !t.Placed():
			e.pending++
		}
		for _, on := range []cluster.NodeID{t.Node, t.Next} {
			if on != cluster.NoNode {
				add(e.held[t.Class], state.Demand(row), 1)
			}
		}
	}
	for i := range s.tasks.list {
		if t := s.tasks.list[i]; t.seq != 0 && t.phase == working {
			add(e.busy, t.demand, 1)
		}
	}
	e.decisions = float64(s.planner.core.Counts().Placed + s.planner.core.Counts().Evicted)
	e.picture = d.picture(s)
	d.entries = append(d.entries, e)
}

func add(sum, v cluster.Vector, sign int64) {
	for k, q := range v {
		sum[k] += sign * q
	}
}

// play is simulation.play with a diary.
func (d *diary) play(s *simulation) error {
	if err := s.replay.read(); err != nil {
		return err
	}
	s.injector.start()
	for {
		next := s.nextMoment()
		over := next == cluster.Never || s.cfg.Until > 0 && next > s.cfg.Until
		if over {
			next = s.cfg.Until
		}
		if next > s.kernel.now {
			d.note(s, next)
		}
		s.pass(next)
		if over {
			d.note(s, s.kernel.now)
			return nil
		}
		if err := s.moment(); err != nil {
			return err
		}
	}
}

// cut is the series of a run that ended at the moment, in such steps.
func (d *diary) cut(step, end cluster.Time) map[string][]float64 {
	columns := map[string][]float64{}
	put := func(name string, v float64) { columns[name] = append(columns[name], v) }
	before := 0.0
	for from := cluster.Time(0); from < end; from += step {
		to := min(from+step, end)
		var last entry
		for _, e := range d.entries {
			if e.from <= to {
				last = e
			}
		}
		put("pending", last.pending)
		put("running", last.running)
		put("decisions", last.decisions-before)
		put("nodes", last.nodes)
		put("nodes_active", last.active)
		before = last.decisions
		for k, kind := range d.kinds {
			capacity := d.area(from, to, func(e *entry) int64 { return e.capacity[k] })
			put("utilisation."+kind.Name, ratio(d.area(from, to, func(e *entry) int64 { return e.busy[k] }), capacity))
			for c, promised := range class.Google().Rows() {
				put("allocation."+kind.Name+"."+promised.Name, ratio(d.area(from, to, func(e *entry) int64 { return e.held[c][k] }), capacity))
			}
			arrived := new(big.Int)
			for _, a := range d.arrived {
				if a.at <= to {
					arrived.Add(arrived, big.NewInt(a.demand[k]))
				}
			}
			put("arrived."+kind.Name, ratio(arrived, big.NewInt(last.capacity[k])))
		}
	}
	return columns
}

// area is the integral of an amount from one moment to another.
func (d *diary) area(from, to cluster.Time, amount func(*entry) int64) *big.Int {
	sum := new(big.Int)
	for i := range d.entries {
		e := &d.entries[i]
		if spent := min(e.to, to) - max(e.from, from); spent > 0 {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(amount(e)), big.NewInt(int64(spent))))
		}
	}
	return sum
}

func ratio(part, whole *big.Int) float64 {
	if whole.Sign() == 0 {
		return 0
	}
	r, _ := new(big.Rat).SetFrac(part, whole).Float64()
	return r
}

// compareColumns fails the test unless the series is what the diary says.
func compareColumns(t *testing.T, got *report.Series, want map[string][]float64) {
	t.Helper()
	if a, b := slices.Sorted(maps.Keys(got.Columns)), slices.Sorted(maps.Keys(want)); !slices.Equal(a, b) {
		t.Fatalf("columns %v, want %v", a, b)
	}
	for name, column := range got.Columns {
		if len(column) != len(want[name]) {
			t.Fatalf("%s has %d samples, want %d", name, len(column), len(want[name]))
		}
		for i, v := range column {
			if w := want[name][i]; math.Abs(float64(v)-w) > 1e-12*max(1, math.Abs(w)) {
				t.Fatalf("%s[%d] is %v, want %v", name, i, v, w)
			}
		}
	}
}

// Whatever goes wrong, the series and the pictures are what the diary says.
func TestSeriesAgainstADiary(t *testing.T) {
	faults := Hostile()
	faults.NodeLoss, faults.Foreign = 10*cluster.Minute, 20*cluster.Second
	faults.BindLate, faults.BindRefused, faults.Twice = 100, 100, 200
	overheads := Overheads{Hot: []cluster.Time{cluster.Second}, Cold: []cluster.Time{5 * cluster.Second}}
	seeds := uint64(6)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		for _, c := range []struct {
			name   string
			tasks  int
			world  World
			until  cluster.Time
			steps  cluster.Time
			policy string
		}{
			{"a minute", 60, World{Seed: seed, Faults: faults}, cluster.Minute, firstStep, "kube"},
			{"seventeen minutes", 800, World{Seed: seed, Faults: faults, Overheads: overheads}, 17*cluster.Minute + 300*cluster.Millisecond, cluster.Second, "priority"},
			{"two hours", 1000, World{Seed: seed, Faults: faults}, 2 * cluster.Hour, 15 * cluster.Second, "priority"},
			{"quiet, to the end", 300, World{Seed: seed}, 0, cluster.Second, "kube"},
		} {
			t.Run(fmt.Sprintf("%s/seed=%d", c.name, seed), func(t *testing.T) {
				source := story(5, c.tasks)
				d := &diary{}
				d.kinds = diarySource{source, d}.Kinds()
				s, err := newSimulation(Config{Source: diarySource{source, d}, Lanes: lane(t, c.policy), World: c.world, Until: c.until})
				if err != nil {
					t.Fatal(err)
				}
				if err := d.play(s); err != nil {
					t.Fatal(err)
				}
				var got report.Run
				s.measures.result(s.planner.view(), s.kernel.now, &got)
				step := s.measures.overTime.step
				if step != c.steps {
					t.Errorf("steps of %v, want %v", step, c.steps)
				}
				compareColumns(t, got.Series, d.cut(step, s.kernel.now))
				comparePictures(t, got.Heat, d, s.kernel.now)
			})
		}
	}
}

// More may happen at one moment than the change log remembers: nothing is
// missed.
func TestHoldingsAfterTheLogWasTrimmed(t *testing.T) {
	s := fourTasks(t)
	s.measures.advance(s.planner.view(), s.kernel.now, s.kernel.now)
	place := func() {
		out, _, err := s.planner.core.Step(s.kernel.now, s.outbox.events, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.outbox.events = nil
		if err := s.carryOut(out); err != nil {
			t.Fatal(err)
		}
	}
	place()
	place()
	if err := s.observe(); err != nil {
		t.Fatal(err)
	}
	r := s.planner.core.Begin(0, s.kernel.now)
	r.Run(0)
	s.planner.core.Finish(r, s.kernel.now, nil)
	if _, ok := s.planner.view().ChangesSince(s.measures.read); ok {
		t.Fatal("the log still holds everything; the test is of no use")
	}
	s.measures.advance(s.planner.view(), s.kernel.now, s.kernel.now)
	d := &diary{kinds: s.nodes.kinds}
	d.note(s, s.kernel.now)
	e := d.entries[0]
	if e.running == 0 || float64(s.measures.holdings.running) != e.running || float64(s.measures.holdings.nodesActive) != e.active || !slices.EqualFunc(s.measures.holdings.by, e.held, slices.Equal[cluster.Vector]) {
		t.Errorf("holdings are %+v, want %+v", s.measures.holdings, e)
	}
}

// A task that was told to leave and has room elsewhere holds both.
func TestHoldingsOfATaskThatMoves(t *testing.T) {
	s := fourTasks(t)
	state := stateOf(t, s)
	refusals := []cluster.Refusal{state.Place(0, 0, 0), state.Evict(0), state.Place(0, 1, 0)}
	if slices.ContainsFunc(refusals, cluster.Refusal.Refused) {
		t.Fatal(refusals)
	}
	s.measures.advance(&state.View, 0, 0)
	if h := &s.measures.holdings; h.by[bronze][0] != 2 || h.running != 1 || h.nodesActive != 2 {
		t.Errorf("the task holds %d cpu, %d tasks run on %d nodes; want 2, 1 and 2", h.by[bronze][0], h.running, h.nodesActive)
	}
}

// Between two looks a task may change its shape, and another may come to hold the
// same on the same row.
func TestHoldingsOfAnotherTaskOnTheRow(t *testing.T) {
	s := fourTasks(t)
	state := stateOf(t, s)
	apply := func(events ...cluster.Event) {
		for _, e := range events {
			if err := state.Apply(0, e); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(what string, of cluster.ClassID, cpu int64) {
		s.measures.advance(&state.View, 0, 0)
		want := []cluster.Vector{{0}, {0}, {0}}
		want[of][0] = cpu
		if !slices.EqualFunc(s.measures.holdings.by, want, slices.Equal[cluster.Vector]) || s.measures.holdings.running != 1 {
			t.Errorf("%s: %v is held, want %v", what, s.measures.holdings.by, want)
		}
	}
	task := *state.Task(0)
	apply(cluster.TaskFound{Task: 0, Seq: task.Seq, Node: 0})
	check("at first", bronze, 1)
	apply(cluster.TaskReshaped{Task: 0, Seq: task.Seq, Shape: state.Task(2).Shape})
	check("after reshaping", bronze, 3)
	apply(cluster.TaskEnded{Task: 0, Seq: task.Seq},
		cluster.TaskSubmitted{Task: 0, Seq: 9, Job: task.Job, Shape: state.Task(2).Shape, Class: gold},
		cluster.TaskFound{Task: 0, Seq: 9, Node: 1})
	check("another task", gold, 3)
}

// How many steps there are, and how long they are, by the length of the run.
// Time may go by in one leap or in many.
func TestStepsByLength(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		length, step cluster.Time
		steps        int
	}{
		{0, firstStep, 1},
		{1, firstStep, 1},
		{firstStep, firstStep, 1},
		{firstStep + 1, firstStep, 2},
		{10 * cluster.Second, firstStep, 100},
		{2 * cluster.Minute, firstStep, 1200},
		{2*cluster.Minute + 1, cluster.Second, 121},
		{10 * cluster.Minute, cluster.Second, 600},
		{cluster.Hour, 5 * cluster.Second, 720},
		{2 * cluster.Hour, 15 * cluster.Second, 480},
		{cluster.Day, cluster.Minute, 1440},
		{30 * cluster.Day, cluster.Minute, 43_200},
		{50_000 * cluster.Minute, cluster.Minute, 50_000},
		{50_001 * cluster.Minute, 2 * cluster.Minute, 25_001},
		{1000 * cluster.Day, 32 * cluster.Minute, 45_000},
		{1 << 60, 1 << 19 * cluster.Minute, 36_651},
	} {
		for _, leaps := range []bool{true, false} {
			s := newSeries()
			s.gauge("one", func() float64 { return 1 })
			now := cluster.Time(0)
			for !leaps && now < c.length && c.length < 1<<50 {
				next := min(c.length, now+1+cluster.Time(random.Int64N(int64(c.length/1000)+1)))
				s.advance(now, next)
				now = next
			}
			if now < c.length {
				s.advance(now, c.length)
			}
			r := s.result(c.length)
			if len(r.Columns["one"]) != c.steps || s.step != c.step {
				t.Errorf("%v: %d steps of %v, want %d of %v", c.length, len(r.Columns["one"]), s.step, c.steps, c.step)
			}
		}
	}
}

// Steps that became one hold what one long step would have held, to the bit.
func TestStepsBecomeOne(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 3))
		// The same amounts, in steps that begin short or are as long from the start.
		amount, whole, risen := int64(0), int64(1), 0.0
		fill := func(s *series) {
			of := s.level(func() int64 { return whole })
			s.share("share", s.level(func() int64 { return amount }), of)
			s.gauge("last", func() float64 { return float64(amount) })
			s.counter("risen", func() float64 { return risen })
		}
		short, long := newSeries(), newSeries()
		long.step = []cluster.Time{cluster.Second, 5 * cluster.Second, 15 * cluster.Second, cluster.Minute}[seed%4]
		length := cluster.Time(mostShort) * long.step
		fill(&short)
		fill(&long)
		for now := cluster.Time(0); now < length; {
			amount, whole, risen = random.Int64N(1<<50), 1+random.Int64N(1<<55), risen+float64(random.IntN(10))
			next := min(length, now+1+cluster.Time(random.Int64N(int64(long.step)*3)))
			if seed%2 == 0 { // moments on the ends of steps
				next = min(length, (next+firstStep-1)/firstStep*firstStep)
			}
			short.advance(now, next)
			long.advance(now, next)
			now = next
		}
		a, b := short.result(length), long.result(length)
		if a.Step != b.Step || !maps.EqualFunc(a.Columns, b.Columns, slices.Equal[[]report.Number]) {
			t.Fatalf("seed %d: steps of %v became steps of %v, and differ from those", seed, firstStep, a.Step)
		}
	}
}

// The classes of the tests.
const gold, bronze cluster.ClassID = 0, 2
