package schedtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// world is a small cluster around a core. It plays the nodes and the tasks,
// and keeps a record of its own of what runs where; the core's state is looked
// at only to compare.
type world struct {
	mode
	chance chance
	core   *sched.Core
	now    cluster.Time
	age    int // steps so far
	fates  int // what happened by itself so far
	mail   []letter
	sent   uint64
	still  int // steps in a row at the same moment

	nodes    []*wNode
	tasks    []*wTask
	shapes   []cluster.Shape // the spare one stands last, while it is there
	jobs     []*wJob
	passing  []*wJob         // whose tasks come once; they are not among jobs
	copied   []*wJob         // whose tasks are copies of one another; they are not among jobs
	live     map[runID]*wRun // by attempt
	order    []*wRun         // the same, in the order of their beginning
	taskRows cluster.Rows
	flights  []*flight // rounds in flight, by lane
	log      []string
	count    map[string]int // of faults

	rules
	atOnce atOnce
}

// atOnce says what the policy places at once, or not at all.
type atOnce struct {
	together bool // it is a keeper
	jobs     bool // it is placesWhole
	copies   bool // it is placesCopies

	gangs []*wJob // that have come; they are not among the world's jobs
}

// keeper is a policy that keeps the tasks of a job on one node where the job
// wants that, and leaves them waiting rather than place some of them elsewhere.
type keeper interface{ KeepsTogether() }

// placesWhole is a policy that places all tasks of a job that wait or none of them, as long as
// none of the job has a place.
type placesWhole interface{ PlacesWhole() }

// placesCopies is a policy that places all copies of a job that wait on as many nodes, or none.
type placesCopies interface{ PlacesCopies() }

// letter is something that happens, or is reported, at its time.
type letter struct {
	at    cluster.Time
	seq   uint64
	event func() cluster.Event // nil: no report, or the event came to nothing
	then  func()               // after the core has seen the batch
}

type wNode struct {
	row     cluster.NodeID
	spec    cluster.NodeSpec
	large   cluster.Vector // its capacity when it is not shrunk
	present bool           // physically
	known   bool           // as reported
	limit   cluster.Vector // as reported
	devices []int          // of each kind that comes in such, as reported
	epoch   int            // counts its returns
	sets    []bool         // the sets that it is in, as reported
}

type wJob struct {
	row      cluster.JobID
	foreign  bool
	together bool
	copies   bool // the first of its tasks that finishes ends the others
	finished bool // one has, as reported
	least    int  // of a gang: how many tasks are placed together, or none
	done     int  // of a gang: how many have ended that had finished, or had run, as reported
	tasks    []*wTask
}

type wTask struct {
	row      cluster.TaskID
	seq      cluster.Seq
	job      *wJob
	shape    cluster.ShapeID
	input    []cluster.Block
	gated    bool // when it was submitted
	gatedNow bool // it was reported gated, and no run of it was known
	sent     bool // its submission was reported
	dead     bool // finished or killed, maybe not yet reported
	gone     bool // and reported
	ends     bool // it was told to end
}

type runID struct {
	task    cluster.TaskID
	attempt uint32
}

// wRun is one run of a task, from the decision to its physical end.
type wRun struct {
	id       runID
	task     *wTask
	shape    cluster.Shape // as reported
	devices  cluster.DeviceSet
	grant    cluster.Vector // as decided, brought into the range of the shape; nil is its demand
	node     *wNode
	epoch    int
	binding  bool // decided, and to come
	present  bool // physically there
	known    bool // takes room as far as the core can know
	refused  bool // it was reported refused
	reported bool // its beginning was reported
	toLeave  bool // it was told to

	protected cluster.Time // until when it is not to be evicted, as reported
	orphan    bool         // nobody wanted it any more when its beginning was reported
}

// flight is a round in flight.
type flight struct {
	round *sched.Round
	done  chan any // what its policy panicked with, or nil
}

func newWorld(newPolicy func(seed uint64) sched.Policy, m mode) (*world, error) {
	w := &world{mode: m, chance: chance{Rand: rand.New(rand.NewPCG(m.seed, 0xbad))}, live: map[runID]*wRun{}, count: map[string]int{}, rules: rules{counts: map[string]int32{}}}
	kinds := []cluster.Kind{{Name: "cpu"}, {Name: "memory"}, {Name: "gpu", PerUnit: perDevice, Devices: true}}
	if m.seed%5 == 3 {
		w.chance.cards = rand.New(rand.NewPCG(m.seed, 0xca2d))
		kinds = append(kinds, cluster.Kind{Name: "nic", PerUnit: perCard, Devices: true})
	}
	lanes := []sched.Lane{{Name: "all", Policy: newPolicy(m.seed)}}
	_, w.atOnce.together = lanes[0].Policy.(keeper)
	_, w.atOnce.jobs = lanes[0].Policy.(placesWhole)
	_, w.atOnce.copies = lanes[0].Policy.(placesCopies)
	if m.hostile && m.seed%2 == 1 {
		lanes[0].Owns = func(j *cluster.Job) bool { return j.User == "even" }
		lanes = append(lanes, sched.Lane{Name: "rest", Policy: newPolicy(m.seed + 1)})
	}
	if m.seed%3 == 2 {
		lanes[0].When = sched.Trigger{Heartbeat: 2 * cluster.Second, Watchdog: 20 * cluster.Second}
	}
	for i := range lanes {
		if own, ok := lanes[i].Policy.(Triggered); ok {
			lanes[i].When = own.When
		}
	}
	var err error
	if w.core, err = sched.New(cluster.NewState(kinds, promises()), lanes...); err != nil {
		return nil, err
	}
	w.flights = make([]*flight, len(lanes))
	w.found()
	return w, nil
}

// promises are the classes of tasks, in turns by job: one promises nothing, the others
// more and more.
func promises() []cluster.Class {
	return []cluster.Class{
		{Name: "none", Importance: 3},
		{Name: "half", Importance: 2, Availability: cluster.Whole / 2, Margin: 5 * cluster.Second, Restart: cluster.Second, Budget: cluster.Whole / 2},
		{Name: "most", Importance: 1, Availability: cluster.Whole * 9 / 10, Margin: 5 * cluster.Second, Restart: cluster.Second, Budget: cluster.Whole / 10},
		{Name: "all", Importance: 0, Availability: cluster.Whole, Margin: 5 * cluster.Second},
	}
}

// found makes the nodes, shapes and jobs, and sets the first things going.
func (w *world) found() {
	count := 5 + w.chance.IntN(26)
	var sets [setCount]cluster.SetDefined
	for i := range count {
		n := &wNode{row: cluster.NodeID(i), large: w.chance.withCards(w.vector(4, 16, perDevice*w.chance.Int64N(4)), 4), sets: make([]bool, setCount+1)}
		n.spec = cluster.NodeSpec{Name: fmt.Sprintf("n%d", i), Capacity: n.large, Groups: w.groups()}
		if w.chance.IntN(4) == 0 {
			n.spec.Overcommit = cluster.Vector{1500, 1000, 1500, 1500}[:len(n.large)]
		}
		w.nodes = append(w.nodes, n)
		w.post(0, w.addNode(n, false), nil)
		for set := range sets {
			if n.sets[set] = w.chance.IntN(2) == 0; n.sets[set] {
				sets[set].Nodes = append(sets[set].Nodes, n.row)
			}
		}
	}
	for i, e := range sets {
		e.Set = cluster.SetID(i + 1)
		w.post(0, func() cluster.Event { return e }, nil)
	}
	for i := range shapeCount {
		shape := cluster.Shape{Demand: w.chance.asking(w.vector(0, 6, gpuOf(i)), i), PerNode: int32(max(w.chance.IntN(8)-5, 0))}
		if w.chance.IntN(3) == 0 {
			shape.Eligible = cluster.SetID(1 + w.chance.IntN(setCount))
		}
		if i == shapeCount-1 {
			shape = cluster.Shape{Demand: w.chance.asking(w.vector(8, 20, 0), i)} // fits on few nodes, or none
		}
		if i%2 == 0 {
			shape.Max = append(cluster.Vector{shape.Demand[0] + int64(i), shape.Demand[1] + 2}, shape.Demand[gpu:]...)
		}
		if i%2 == 1 {
			shape.Prefers = []cluster.Preference{{Set: cluster.SetID(1 + i/2%setCount), Weight: []int32{100, -40, 1}[i/2]}}
		}
		shape.Tags = w.tags()
		w.shapes = append(w.shapes, shape)
		w.post(0, func() cluster.Event { return cluster.ShapeDefined{Shape: cluster.ShapeID(i), Spec: shape} }, nil)
	}
	for row := range constraintCount - 1 {
		w.constrain(row)
	}
	for i := range 6 {
		job := &wJob{row: cluster.JobID(i), foreign: i == 0, together: i%3 == 1}
		user := []string{"even", "odd"}[i%2]
		w.jobs = append(w.jobs, job)
		w.post(0, func() cluster.Event {
			return cluster.JobSubmitted{Job: job.row, Name: fmt.Sprintf("j%d", job.row), User: user, Foreign: job.foreign, Together: job.together}
		}, nil)
	}
	w.post(0, nil, w.fate)
	foretellGangs(w)
}

// setCount is how many sets of eligible nodes there always are. The set after
// them comes and goes, with the spare shape.
const setCount = 2

// shapeCount is how many shapes there always are.
const shapeCount = 6

// perDevice is the size of a device.
const perDevice = 4

// gpuOf is what a shape asks of devices: nothing, a share of one, or two.
func gpuOf(shape int) int64 { return []int64{0, 1, 0, 3, 2 * perDevice, 0, 0}[shape] }

func (w *world) vector(low, high, gpu int64) cluster.Vector {
	return cluster.Vector{low + w.chance.Int64N(high-low+1), low + w.chance.Int64N(high-low+1), gpu}
}

// gpu is the kind that comes in devices; a second one, network cards, comes behind it in
// some worlds.
const gpu = 2

// perCard is the size of a network card, and firstCard the place of a node's first: each of
// two kinds has half of the places.
const perCard, firstCard = 2, cluster.MaxDevices / 2

// chance is where a world draws from. What is drawn of network cards has a source of its own,
// so that worlds without them are as they would be if there were no others.
type chance struct {
	*rand.Rand
	cards *rand.Rand // nil in a world without
}

// withCards ends a vector of a node in less than so many cards, if the world has such.
func (c chance) withCards(v cluster.Vector, most int64) cluster.Vector {
	if c.cards == nil {
		return v
	}
	return append(v, perCard*c.cards.Int64N(most))
}

// asking ends a demand in what the shape asks of cards, if the world has such: one, a share
// of one or nothing.
func (c chance) asking(v cluster.Vector, shape int) cluster.Vector {
	if c.cards == nil {
		return v
	}
	return append(v, []int64{perCard, 1, 0, 0, perCard, 0, 0}[shape])
}

// devicesOf is what a vector is in devices of one kind.
type devicesOf struct {
	first, size int64
	count       int   // how many
	share       int64 // of each
}

// devicesIn splits a vector: first GPUs, then cards.
func devicesIn(v cluster.Vector) []devicesOf {
	list := []devicesOf{{first: 0, size: perDevice}, {first: firstCard, size: perCard}}[:len(v)-gpu]
	for i := range list {
		of, q := &list[i], v[gpu+i]
		of.count, of.share = int(min(q, 1)), q
		if q > of.size {
			of.count, of.share = int(q/of.size), of.size
		}
	}
	return list
}

// counts is how many devices of each kind a demand asks for.
func counts(demand cluster.Vector) (counts [2]int) {
	for i, of := range devicesIn(demand) {
		counts[i] = of.count
	}
	return counts
}

// falls reports whether something with so many chances in a hundred happens.
// In a calm world, and after the faults, nothing bad does.
func (w *world) falls(percent int) bool { return w.hostile && w.chance.IntN(100) < percent }

// soon is a short delay; now and then, among faults, a long one.
func (w *world) soon() cluster.Time {
	d := cluster.Time(w.chance.Int64N(int64(200 * cluster.Millisecond)))
	if w.falls(10) {
		d += cluster.Time(w.chance.Int64N(int64(20 * cluster.Second)))
	}
	return d
}

// post sends a letter.
func (w *world) post(delay cluster.Time, event func() cluster.Event, then func()) {
	w.sent++
	l := letter{at: w.now + delay, seq: w.sent, event: event, then: then}
	at, _ := slices.BinarySearchFunc(w.mail, l, func(a, b letter) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return int(a.seq) - int(b.seq)
	})
	w.mail = slices.Insert(w.mail, at, l)
}

// report sends an event late, and sometimes once more later.
func (w *world) report(event func() cluster.Event, then func()) {
	d := w.soon()
	w.post(d, event, then)
	if w.falls(10) {
		w.post(d+w.soon(), event, then)
	}
}

// turn goes to the next moment at which something happens, delivers the mail,
// and lets the core decide.
func (w *world) turn() error {
	w.age++
	next := w.core.Wake(w.now)
	if len(w.mail) > 0 {
		next = min(next, w.mail[0].at)
	}
	if next == cluster.Never {
		next = w.now + cluster.Second
	}
	if w.still++; next > w.now {
		w.still = 0
	}
	if w.still > 200 {
		return fmt.Errorf("at %v the core wants round after round without end", w.now)
	}
	w.now = max(w.now, next)
	events, thens := w.deliver()
	decisions, err := w.decide(events)
	if err != nil {
		return err
	}
	for _, then := range thens {
		then()
	}
	if w.tamper != nil && w.tamper.decisions != nil {
		decisions = w.tamper.decisions(w, decisions)
	}
	for _, d := range decisions {
		w.log = append(w.log, fmt.Sprintf("%v %s %d/%d on %d", w.now, d.Kind, d.Task, d.Attempt, d.Node))
		if err := w.carryOut(d); err != nil {
			return fmt.Errorf("at %v, %s of task row %d attempt %d on node row %d: %w", w.now, d.Kind, d.Task, d.Attempt, d.Node, err)
		}
	}
	takeBack(w)
	if w.tamper != nil && w.tamper.step != nil {
		w.tamper.step(w)
	}
	if err := w.check(); err != nil {
		return fmt.Errorf("at %v: %w", w.now, err)
	}
	return nil
}

// deliver takes the mail of this moment.
func (w *world) deliver() (events []cluster.Event, thens []func()) {
	due := 0
	for due < len(w.mail) && w.mail[due].at <= w.now {
		due++
	}
	batch := slices.Clone(w.mail[:due])
	w.mail = slices.Delete(w.mail, 0, due)
	for _, l := range batch {
		if l.event != nil {
			if e := l.event(); e != nil {
				events = append(events, e)
			}
		}
		if l.then != nil {
			thens = append(thens, l.then)
		}
	}
	if w.tamper != nil && w.tamper.events != nil {
		events = w.tamper.events(w, events)
	}
	return events, thens
}

// decide hands the events to the core. In a hostile world a round may begin
// now and be finished later, while the world moves on.
func (w *world) decide(events []cluster.Event) ([]sched.Decision, error) {
	direct := !w.views && !w.falls(60) && !w.flying()
	decisions, err := w.core.Observe(w.now, events, nil)
	if err != nil {
		return nil, err
	}
	before, gangs := w.violations(), countGangs(w)
	if direct {
		decisions, _, err = w.core.Step(w.now, nil, decisions)
	} else {
		decisions, err = w.decideOnViews(decisions)
	}
	if err == nil && w.asks && !w.flying() {
		err = ask(w.core, w.age)
	}
	return decisions, errors.Join(err, w.heldTo(before), wholeGangs(w, gangs))
}

// ask asks about a task, another one in each step, which must make no difference.
func ask(core *sched.Core, step int) error {
	s := core.View()
	t := cluster.TaskID(step % max(s.TaskRows(), 1))
	if int(t) >= s.TaskRows() || s.Task(t).Phase == cluster.Absent {
		return nil
	}
	if core.Why(t).Text(s.Kinds()) == "" {
		return fmt.Errorf("no reason is given for task row %d", t)
	}
	if _, _, err := sched.ExplainTask(core, t, 3); err != nil {
		return fmt.Errorf("task row %d is not explained: %w", t, err)
	}
	return nil
}

// decideOnViews begins and finishes rounds.
func (w *world) decideOnViews(decisions []sched.Decision) ([]sched.Decision, error) {
	var err error
	for lane, f := range w.flights {
		if f != nil && w.chance.IntN(3) == 0 || f != nil && !w.hostile {
			if decisions, err = w.land(lane, decisions); err != nil {
				return nil, err
			}
		}
	}
	for range len(w.flights) {
		lane, due := w.core.Due(w.now)
		if !due {
			break
		}
		w.fly(lane)
		if w.falls(70) {
			continue // it lands on another turn
		}
		if decisions, err = w.land(lane, decisions); err != nil {
			return nil, err
		}
	}
	if w.flying() {
		w.post(cluster.Time(w.chance.Int64N(int64(3*cluster.Second))), nil, nil) // a turn to land on
	}
	return decisions, nil
}

func (w *world) flying() bool {
	return slices.ContainsFunc(w.flights, func(f *flight) bool { return f != nil })
}

// fly begins a round and lets it plan beside the world, as a real edge would.
func (w *world) fly(lane int) {
	w.count["round in flight"]++
	f := &flight{round: w.core.Begin(lane, w.now), done: make(chan any, 1)}
	w.flights[lane] = f
	go func() {
		defer func() { f.done <- recover() }()
		f.round.Run(0)
	}()
}

// land commits what a round in flight has planned.
func (w *world) land(lane int, decisions []sched.Decision) ([]sched.Decision, error) {
	f := w.flights[lane]
	w.flights[lane] = nil
	if broken := <-f.done; broken != nil {
		return nil, fmt.Errorf("the policy panicked: %v", broken)
	}
	return w.core.Finish(f.round, w.now, decisions), nil
}

// join waits for the rounds in flight of a world that is given up.
func (w *world) join() {
	for _, f := range w.flights {
		if f != nil {
			<-f.done
		}
	}
}
