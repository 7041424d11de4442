package stream

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/fragmentation"
	"fairlead.dev/fairlead/sim/trace"
)

// version is that of the format. Version 1 had no name, per_node and devices,
// but apart: true for per_node 1. Version 2 had no groups, together, input and
// usage. Version 3 had no tier, promise and max. Version 4 had no tags, long_running,
// constrain and release. Version 5 had no service, owner, pinned, foreign, unowned, never_preempts, gate, budget, budgets and unready.
// Version 6 had no due.
const version = 7

// Options says how to read a stream.
type Options struct {
	// Lenient leaves out broken lines and counts them. A gzip file that is cut
	// short ends there. The header must be right.
	Lenient bool
}

// Reader reads a stream. It is a trace.Source.
type Reader struct {
	lines   *trace.Lines
	skips   *trace.Skips
	scan    scanner
	version uint64 // of the stream
	kinds   []cluster.Kind
	typical []fragmentation.Typical
	until   cluster.Time
	time    cluster.Time
	begun   bool  // a record was read
	err     error // final, once set

	// What the latest record refers to, and one copy of each text.
	quantities   cluster.Vector
	most         cluster.Vector
	labels       []cluster.Label
	groups       []cluster.Label
	input        []trace.Block
	replicas     []uint64 // of all blocks
	requirements []cluster.Requirement
	tags         []string
	texts        map[string]string
}

var _ trace.TypicalSource = (*Reader)(nil)

// Open opens a file, lines or a Parquet table, and reads its header.
func Open(file string, opt Options) (*Reader, error) {
	skips := &trace.Skips{Lenient: opt.Lenient}
	open := trace.OpenLines
	if isParquet(file) {
		open = openParquet
	}
	lines, err := open(file, skips)
	if err != nil {
		return nil, err
	}
	return start(lines, skips)
}

// NewReader reads a stream from r, which errors call name.
func NewReader(name string, r io.Reader, opt Options) (*Reader, error) {
	skips := &trace.Skips{Lenient: opt.Lenient}
	return start(trace.NewLines(name, r, skips), skips)
}

func start(lines *trace.Lines, skips *trace.Skips) (*Reader, error) {
	r := &Reader{lines: lines, skips: skips, texts: map[string]string{}}
	err := r.header()
	if err != nil {
		_ = r.Close() // the first error tells more
		return nil, err
	}
	return r, nil
}

const (
	wantHeader = `{"fairlead":"trace","version":7,"kinds":[...]}`
	wantKind   = `{"name":...,"unit":...,"per_unit":...}`

	wantTypical = `{"demand":...,"tasks":...}`
)

func (r *Reader) header() error {
	line, err := r.lines.Next()
	if errors.Is(err, io.EOF) {
		return r.lines.Missing("the header " + wantHeader)
	}
	if err != nil {
		return err
	}
	s := &r.scan
	s.reset(line)
	ours, versioned := false, false
	for more := s.open('{', "the header "+wantHeader); more; more = s.more('}') {
		switch name := s.name(); string(name) {
		case "fairlead":
			if ours = string(s.string(`"trace"`)) == "trace"; !ours {
				s.fail(`"trace"`)
			}
		case "version":
			// An unsupported version is reported before anything that is new in it.
			r.version = s.uint("the version of the format", math.MaxUint64)
			if versioned = r.version >= 1 && r.version <= version; !versioned {
				s.fail(fmt.Sprintf("version 1 to %d of the format", version))
			}
		case "kinds":
			r.kinds, r.typical = nil, nil
			for more := s.open('[', "a list of kinds"); more; more = s.more(']') {
				r.kind()
			}
			r.quantities, r.most = make(cluster.Vector, len(r.kinds)), make(cluster.Vector, len(r.kinds))
		case "typical":
			for more := s.open('[', "a list of "+wantTypical); more; more = s.more(']') {
				r.readTypical()
			}
		case "until":
			r.until = cluster.Time(s.uint("a time in microseconds", uint64(cluster.Never-1)))
		default:
			s.failName("a field of the header", name, "fairlead", "version", "kinds", "typical", "until")
		}
	}
	if !ours || !versioned || len(r.kinds) == 0 {
		s.fail("the header " + wantHeader)
	}
	s.end()
	if s.failed() {
		return s.err(r.lines)
	}
	return nil
}

func (r *Reader) kind() {
	s := &r.scan
	kind := cluster.Kind{}
	for more := s.open('{', "a kind "+wantKind); more; more = s.more('}') {
		switch name := s.name(); string(name) {
		case "name":
			kind.Name = string(s.string("the name of a kind"))
			if r.kindOf([]byte(kind.Name)) >= 0 {
				s.fail("each kind once")
			}
		case "unit":
			kind.Unit = string(s.string("the unit of a kind"))
		case "per_unit":
			kind.PerUnit = s.int("an integer of at least 1", 0, cluster.MaxQuantity)
		case "devices":
			kind.Devices = s.bool()
		default:
			s.failName("a field of a kind", name, "name", "unit", "per_unit", "devices")
		}
	}
	if kind.Name == "" || kind.PerUnit < 1 {
		s.fail("a kind with a name, and a per_unit of at least 1")
	}
	r.kinds = append(r.kinds, kind)
}

func (r *Reader) readTypical() {
	s := &r.scan
	t := fragmentation.Typical{}
	for more := s.open('{', wantTypical); more; more = s.more('}') {
		switch name := s.name(); string(name) {
		case "demand":
			t.Demand = slices.Clone(r.vector())
		case "require":
			t.Requirements = r.readRequirements(nil)
		case "tasks":
			t.Tasks = int(s.uint("how many tasks ask for that", math.MaxInt32))
		default:
			s.failName("a field of typical", name, "demand", "require", "tasks")
		}
	}
	if t.Demand == nil || t.Tasks == 0 {
		s.fail("demand and tasks in the object that ends here, after the kinds")
	}
	r.typical = append(r.typical, t)
}

func (r *Reader) kindOf(name []byte) int {
	return slices.IndexFunc(r.kinds, func(k cluster.Kind) bool { return k.Name == string(name) })
}

func (r *Reader) kindNames() []string {
	var names []string
	for _, k := range r.kinds {
		names = append(names, k.Name)
	}
	return names
}

// Kinds are those of the header.
func (r *Reader) Kinds() []cluster.Kind { return r.kinds }

// Typical is what tasks typically ask for, if the header says so.
func (r *Reader) Typical() []fragmentation.Typical { return r.typical }

// End is when a run stops unless told otherwise, if the header says so.
func (r *Reader) End() cluster.Time { return r.until }

// Skipped returns how many broken lines were left out so far, and the first
// few of them.
func (r *Reader) Skipped() (count int, first []*trace.Error) { return r.skips.Count, r.skips.First }

// Close closes the file. It may be called more than once.
func (r *Reader) Close() error { return r.lines.Close() }

// Next fills in the next record.
func (r *Reader) Next(rec *trace.Record) error {
	for r.err == nil {
		var line []byte
		if line, r.err = r.lines.Next(); r.err != nil {
			if errors.Is(r.err, io.EOF) && !r.begun {
				r.err = r.lines.Missing(`a record {"t":...} below the header`)
			}
			break
		}
		r.scan.reset(line)
		r.record(rec)
		if !r.scan.failed() {
			r.begun, r.time = true, rec.Time
			return nil
		}
		r.err = r.skips.Refuse(r.scan.err(r.lines))
	}
	return r.err
}

// record reads the line as a record.
func (r *Reader) record(rec *trace.Record) {
	*rec = trace.Record{}
	s := &r.scan
	timed := false
	for more := s.open('{', `a record {"t":...}`); more; more = s.more('}') {
		name := s.name()
		if string(name) == "t" {
			timed = true
			rec.Time = cluster.Time(s.uint("a time in microseconds", uint64(cluster.Never-1)))
			if rec.Time < r.time {
				s.fail(fmt.Sprintf("a time of at least %d, as in the record before", int64(r.time)))
			}
			continue
		}
		if rec.What != 0 {
			s.fail("one of add, change, lose, usage, submit, kill, constrain, release and budget, not two")
		}
		switch string(name) {
		case "add":
			rec.What = trace.NodeAdded
			r.node(&rec.Node)
		case "change":
			rec.What = trace.NodeChanged
			r.node(&rec.Node)
		case "lose":
			rec.What = trace.NodeLost
			r.nodeID(&rec.Node)
		case "usage":
			rec.What = trace.NodeUsed
			r.usage(&rec.Node)
		case "submit":
			rec.What = trace.TaskSubmitted
			r.task(&rec.Task)
		case "kill":
			rec.What = trace.TaskKilled
			r.taskID(&rec.Task)
		case "constrain":
			rec.What = trace.ConstraintAdded
			r.constraint(&rec.Constraint)
		case "release":
			rec.What = trace.ConstraintRemoved
			r.release(&rec.Constraint)
		case "budget":
			rec.What = readBudget(s, &rec.Budget)
		default:
			s.failName("a field of a record", name, "t", "add", "change", "lose", "usage", "submit", "kill", "constrain", "release", "budget")
		}
	}
	if !timed || rec.What == 0 {
		s.fail("t, and one of add, change, lose, usage, submit, kill, constrain, release and budget")
	}
	s.end()
}

// readBudget reads a budget of disruption, and says what a record with one is.
func readBudget(s *scanner, b *cluster.Budget) trace.What {
	for more := s.open('{', `{"name":...,"least":...}`); more; more = s.more('}') {
		switch name := s.name(); string(name) {
		case "name":
			b.Name = string(s.string("the name of the budget"))
		case "least":
			b.Least = s.int("how many of its tasks are to be available", 0, int64(cluster.MaxBound))
		case "frees_unready":
			b.FreesUnready = s.bool()
		default:
			s.failName("a field of a budget", name, "name", "least", "frees_unready")
		}
	}
	if err := cluster.CheckBudget(b); err != nil && !s.failed() {
		s.fail(fmt.Sprintf("a budget that can be (%v)", err))
	}
	return trace.BudgetAdded
}

func (r *Reader) nodeID(n *trace.Node) {
	s := &r.scan
	named := false
	for more := s.open('{', `{"node":...}`); more; more = s.more('}') {
		if name := s.name(); string(name) != "node" {
			s.failName("a field of lose", name, "node")
		}
		named = true
		n.ID = s.uint("the integer that names the node", math.MaxUint64)
	}
	if !named {
		s.fail("node in the object that ends here")
	}
}

func (r *Reader) node(n *trace.Node) {
	s := &r.scan
	named := false
	for more := s.open('{', `{"node":...}`); more; more = s.more('}') {
		switch name := s.name(); string(name) {
		case "node":
			named = true
			n.ID = s.uint("the integer that names the node", math.MaxUint64)
		case "name":
			n.Name = string(s.string("the node's name"))
		case "capacity":
			n.Capacity = r.vector()
		case "labels":
			r.labels = r.readLabels(r.labels[:0])
			n.Labels = r.labels
		case "groups":
			r.groups = r.readLabels(r.groups[:0])
			n.Groups = r.groups
		case "tier":
			n.Tier = int32(s.uint(fmt.Sprintf("a tier from 0 to %d", cluster.Levels), uint64(cluster.Levels)))
		default:
			s.failName("a field of a node", name, "node", "name", "capacity", "labels", "groups", "tier")
		}
	}
	if !named || n.Capacity == nil {
		s.fail("node and capacity in the object that ends here")
	}
}

// usage reads what was measured on a node.
func (r *Reader) usage(n *trace.Node) {
	s := &r.scan
	named := false
	for more := s.open('{', `{"node":...,"used":...}`); more; more = s.more('}') {
		switch name := s.name(); string(name) {
		case "node":
			named = true
			n.ID = s.uint("the integer that names the node", math.MaxUint64)
		case "used":
			n.Usage = r.vector()
		default:
			s.failName("a field of usage", name, "node", "used")
		}
	}
	if !named || n.Usage == nil {
		s.fail("node and used in the object that ends here")
	}
}

func (r *Reader) vector() cluster.Vector {
	clear(r.quantities)
	r.fill(r.quantities)
	return r.quantities
}

// fill reads quantities over those of the vector.
func (r *Reader) fill(v cluster.Vector) {
	s := &r.scan
	for more := s.open('{', "quantities by kind"); more; more = s.more('}') {
		name := s.name()
		k := r.kindOf(name)
		if k < 0 {
			s.failName("a kind that the header names", name, r.kindNames()...)
			break
		}
		v[k] = s.int("a quantity from 0 to 2^45", 0, cluster.MaxQuantity)
	}
}

// omitted stands for a kind of max that is omitted: it is fixed.
const omitted = -1

// readMax reads the most that a task takes.
func (r *Reader) readMax() cluster.Vector {
	for k := range r.most {
		r.most[k] = omitted
	}
	r.fill(r.most)
	return r.most
}

// checkMax says what is wrong with the task's range, and drops one that is none.
func (r *Reader) checkMax(t *trace.Task) {
	for k, kind := range r.kinds {
		switch least := t.Demand[k]; {
		case t.Max[k] == omitted:
			t.Max[k] = least
		case t.Max[k] < least:
			r.scan.fail(fmt.Sprintf("max of %s to be at least the demand, %d, and not %d", kind.Name, least, t.Max[k]))
		case t.Max[k] > least && kind.Devices:
			r.scan.fail(fmt.Sprintf("max of %s to be the demand, %d, as it comes in devices, and not %d", kind.Name, least, t.Max[k]))
		}
	}
	if slices.Equal(t.Max, t.Demand) {
		t.Max = nil
	}
}

// readLabels appends labels to an empty list, sorted by key.
func (r *Reader) readLabels(labels []cluster.Label) []cluster.Label {
	s := &r.scan
	for more := s.open('{', "labels by key"); more; more = s.more('}') {
		key := r.text(s.name())
		at, found := slices.BinarySearchFunc(labels, key, func(l cluster.Label, key string) int { return cmp.Compare(l.Key, key) })
		if found {
			s.fail("each label once")
		}
		labels = slices.Insert(labels, at, cluster.Label{Key: key, Value: r.text(s.string("a label's value"))})
	}
	return labels
}

func (r *Reader) taskID(t *trace.Task) {
	s := &r.scan
	job, index := false, false
	for more := s.open('{', `{"job":...,"task":...}`); more; more = s.more('}') {
		switch name := s.name(); string(name) {
		case "job":
			job = true
			t.Job = s.uint("the job, an integer", math.MaxUint64)
		case "task":
			index = true
			t.Index = uint32(s.uint("the task's number in its job", math.MaxUint32))
		default:
			s.failName("a field of kill", name, "job", "task")
		}
	}
	if !job || !index {
		s.fail("job and task in the object that ends here")
	}
}

func (r *Reader) task(t *trace.Task) {
	s := &r.scan
	job, index := false, false
	t.Work = cluster.Never
	for more := s.open('{', `{"job":...,"task":...,"demand":...}`); more; more = s.more('}') {
		switch name := s.name(); string(name) {
		case "job":
			job = true
			t.Job = s.uint("the job, an integer", math.MaxUint64)
		case "task":
			index = true
			t.Index = uint32(s.uint("the task's number in its job", math.MaxUint32))
		case "job_tasks":
			t.JobTasks = uint32(s.uint("how many tasks the job has", math.MaxUint32))
		case "user":
			t.User = r.text(s.string("the user's name"))
		case "class":
			t.Class = uint8(s.uint("a class from 0 to 255", math.MaxUint8))
		case "priority":
			t.Priority = int32(s.int("a priority, a 32-bit integer", math.MinInt32, math.MaxInt32))
		case "demand":
			t.Demand = r.vector()
		case "name":
			t.Name = r.text(s.string("the task's name"))
		case "promise":
			t.Promise = r.text(s.string("the name of the task's class"))
		case "work":
			t.Work = cluster.Time(s.uint("work in microseconds", uint64(cluster.Never)))
		case "fails":
			t.Fails = s.bool()
		default:
			r.where(t, name)
		}
	}
	switch {
	case !job || !index || t.Demand == nil:
		s.fail("job, task and demand in the object that ends here")
	case t.Max != nil:
		r.checkMax(t)
	}
}

// where takes a field of a task that says where it may be, is or should be.
func (r *Reader) where(t *trace.Task, field []byte) {
	s := &r.scan
	switch string(field) {
	case "per_node":
		t.PerNode = int32(s.uint("how many tasks of the job a node may hold", math.MaxInt32))
	case "apart":
		if r.version > 1 {
			s.fail("a field of submit; since version 2, apart is per_node 1")
		}
		t.PerNode = 0
		if s.bool() {
			t.PerNode = 1
		}
	case "require":
		r.requirements = r.readRequirements(r.requirements[:0])
		t.Requirements = r.requirements
	case "prefer":
		t.Prefers = readPreferences(r)
	case "on":
		t.Running = true
		t.OnNode = s.uint("the integer that names the node", math.MaxUint64)
	case "max":
		t.Max = r.readMax()
	case "together":
		t.Together = s.bool()
	case "gang":
		t.Gang = int32(s.uint("how many of the job's tasks are placed together or not at all", math.MaxInt32))
	case "input":
		t.Input = r.readInput()
	case "tags":
		r.tags = r.readTags(r.tags[:0])
		t.Tags = r.tags
	case "long_running":
		t.LongRunning = s.bool()
	case "service":
		t.Service = s.bool()
	case "budgets":
		t.Budgets = r.readTags(nil)
	case "unready":
		t.Unready = s.bool()
	case "due":
		t.Due = readDue(s)
	case "speeds":
		t.Speeds = readSpeeds(r)
	default:
		whose(r, t, field)
	}
}

// readDue reads when a job is due.
func readDue(s *scanner) (due []trace.Due) {
	const want = "a moment [within, worth]"
	for more := s.open('[', "a list of moments"); more && len(due) <= trace.MostDue; more = s.more(']') {
		s.take('[', want)
		d := trace.Due{Within: cluster.Time(s.uint("a time in microseconds since the job was submitted", uint64(cluster.Never)))}
		s.take(',', "a comma")
		d.Worth = s.int("what it is worth, from 0 to 2^45", 0, cluster.MaxQuantity)
		s.take(']', "]")
		due = append(due, d)
	}
	if err := trace.CheckDue(due); err != nil {
		s.fail("moments that are later and later, and worth less and less, at most " + strconv.Itoa(trace.MostDue) + ", in what ends here: " + err.Error())
	}
	return due
}

// readSpeeds reads how fast a task works on nodes with labels.
func readSpeeds(r *Reader) (speeds []trace.Speed) {
	const want = "a speed [key, value, millionths]"
	s := &r.scan
	for more := s.open('[', "a list of speeds"); more && len(speeds) <= trace.MostSpeeds; more = s.more(']') {
		s.take('[', want)
		var one trace.Speed
		one.On.Key = r.text(s.string("the key of a label"))
		s.take(',', "a comma")
		one.On.Value = r.text(s.string("the value of a label"))
		s.take(',', "a comma")
		one.Rate = int64(s.uint("a speed in millionths, from 1 to 10^9", trace.MostSpeed))
		s.take(']', "]")
		speeds = append(speeds, one)
	}
	if err := trace.CheckSpeeds(speeds); err != nil {
		s.fail("speeds by values of one label, each once, at most " + strconv.Itoa(trace.MostSpeeds) + ", in what ends here: " + err.Error())
	}
	return speeds
}

// whose takes a field of a task that says who has made it, who places it, and what it may do.
func whose(r *Reader, t *trace.Task, field []byte) {
	s := &r.scan
	switch string(field) {
	case "owner":
		t.Owner = r.text(s.string("who has made the task"))
	case "pinned":
		t.Pinned = s.bool()
	case "foreign":
		t.Foreign = r.text(s.string("the other scheduler that places the task"))
	case "unowned":
		t.Unowned = s.bool()
	case "never_preempts":
		t.NeverPreempts = s.bool()
	case "gate":
		t.Gate = r.text(s.string("what keeps the task from being placed"))
	default:
		s.failName("a field of submit", field,
			"job", "task", "job_tasks", "user", "class", "promise", "priority", "demand", "max", "per_node", "name", "require", "prefer", "work", "speeds", "fails", "on", "together", "gang", "input", "tags", "long_running", "service", "budgets", "unready", "due", "owner", "pinned", "foreign", "unowned", "never_preempts", "gate")
	}
}

func (r *Reader) readInput() []trace.Block {
	const want = "a block [bytes, node, ...]"
	s := &r.scan
	r.input, r.replicas = r.input[:0], r.replicas[:0]
	for more := s.open('[', "a list of blocks"); more; more = s.more(']') {
		s.take('[', want)
		b := trace.Block{Bytes: s.int("the bytes of a block, from 0 to 2^45", 0, cluster.MaxQuantity)}
		from := len(r.replicas)
		for s.more(']') {
			n := s.uint("the integer that names a node", math.MaxUint64)
			if slices.Contains(r.replicas[from:], n) || len(r.replicas)-from == trace.MostReplicas {
				s.fail(fmt.Sprintf("at most %d nodes that hold the block, each once", trace.MostReplicas))
			}
			r.replicas = append(r.replicas, n)
		}
		b.Replicas = r.replicas[from:len(r.replicas):len(r.replicas)]
		r.input = append(r.input, b)
	}
	return r.input
}

// readPreferences reads where a task would rather be.
func readPreferences(r *Reader) (all []trace.Preference) {
	s := &r.scan
	for more := s.open('[', `a list of {"weight":...,"require":...}`); more; more = s.more(']') {
		var p trace.Preference
		for more := s.open('{', `{"weight":...,"require":...}`); more; more = s.more('}') {
			switch name := s.name(); string(name) {
			case "weight":
				p.Weight = int32(s.int("a weight from -100 to 100", -cluster.MostPreference, cluster.MostPreference))
			case "require":
				p.Requirements = r.readRequirements(nil)
			default:
				s.failName("a field of a preference", name, "weight", "require")
			}
		}
		if p.Weight == 0 || len(p.Requirements) == 0 {
			s.fail("a weight that is not 0, and requirements, in the preference that ends here")
		}
		all = append(all, p)
	}
	return all
}

// readRequirements appends requirements to an empty list.
func (r *Reader) readRequirements(all []cluster.Requirement) []cluster.Requirement {
	s := &r.scan
	for more := s.open('[', `a list of [key, operator, value]`); more; more = s.more(']') {
		s.take('[', "[key, operator, value]")
		q := cluster.Requirement{Key: r.text(s.string("the key of a label"))}
		s.take(',', "a comma")
		op := s.string("an operator: = != < >")
		switch string(op) {
		case "=":
			q.Op = cluster.Equal
		case "!=":
			q.Op = cluster.NotEqual
		case "<":
			q.Op = cluster.Less
		case ">":
			q.Op = cluster.Greater
		default:
			s.fail("an operator: = != < >")
		}
		s.take(',', "a comma")
		q.Value = r.text(s.string("the value to compare with"))
		if _, err := strconv.ParseInt(q.Value, 10, 64); err != nil && q.Op >= cluster.Less {
			s.fail("an integer in quotes, to compare with")
		}
		s.take(']', "]")
		all = append(all, q)
	}
	return all
}

// mostTexts bounds the texts of which one copy is kept.
const mostTexts = 1 << 16

// text returns one copy of each text, as long as there are few: those of tasks'
// names are as many as tasks.
func (r *Reader) text(b []byte) string {
	if t, ok := r.texts[string(b)]; ok {
		return t
	}
	if len(r.texts) == mostTexts {
		clear(r.texts)
	}
	t := string(b)
	r.texts[t] = t
	return t
}
