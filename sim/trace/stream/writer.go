package stream

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/fragmentation"
	"fairlead.dev/fairlead/sim/trace"
)

// Writer writes a stream. A Reader reads from it what was written, but for text
// that is not UTF-8.
type Writer struct {
	w     *bufio.Writer
	kinds []cluster.Kind
	time  cluster.Time
	line  []byte
	comma bool  // a comma comes before the next member
	err   error // of the header
}

// Copy writes all of src as a stream. Text that is not UTF-8 is a loss: the bytes
// that are not are replaced.
func Copy(to io.Writer, src trace.Source, losses *trace.Losses) error {
	h := header{kinds: src.Kinds()}
	if src, ok := src.(trace.TypicalSource); ok {
		h.typical = src.Typical()
	}
	if src, ok := src.(trace.EndingSource); ok {
		h.until = src.End()
	}
	w := newWriter(to, h)
	var r trace.Record
	for {
		err := src.Next(&r)
		if errors.Is(err, io.EOF) {
			return w.Close()
		}
		if err != nil {
			return err
		}
		if !isUTF8(&r) {
			if err := losses.Refuse(&r, "text that is not UTF-8"); err != nil {
				return err
			}
		}
		if err := w.Write(&r); err != nil {
			return err
		}
	}
}

// isUTF8 reports whether all text of the record is UTF-8.
func isUTF8(r *trace.Record) bool {
	valid := utf8.ValidString(r.Node.Name) && utf8.ValidString(r.Task.Name) && utf8.ValidString(r.Task.User)
	for _, l := range slices.Concat(r.Node.Labels, r.Node.Groups) {
		valid = valid && utf8.ValidString(l.Key) && utf8.ValidString(l.Value)
	}
	for _, q := range r.Task.Requirements {
		valid = valid && utf8.ValidString(q.Key) && utf8.ValidString(q.Value)
	}
	return valid
}

// NewWriter writes the header. Errors come from Write and Close, and stay.
func NewWriter(w io.Writer, kinds []cluster.Kind) *Writer { return newWriter(w, header{kinds: kinds}) }

// header is what the first line says.
type header struct {
	kinds   []cluster.Kind
	typical []fragmentation.Typical
	until   cluster.Time
}

func newWriter(w io.Writer, h header) *Writer {
	out := &Writer{w: bufio.NewWriterSize(w, 1<<16), kinds: h.kinds}
	out.open("", '{')
	out.string("fairlead", "trace")
	out.int("version", version)
	out.open("kinds", '[')
	for _, k := range h.kinds {
		out.open("", '{')
		out.string("name", k.Name)
		out.string("unit", k.Unit)
		out.int("per_unit", k.PerUnit)
		if k.Devices {
			out.flag("devices")
		}
		out.close('}')
	}
	out.close(']')
	if len(h.typical) > 0 {
		out.err = out.typical(h.typical)
	}
	if h.until > 0 {
		out.int("until", int64(h.until))
	}
	out.close('}')
	_ = out.flush() // bufio keeps the error for Write and Close
	return out
}

func (w *Writer) typical(typical []fragmentation.Typical) error {
	w.open("typical", '[')
	for _, t := range typical {
		w.open("", '{')
		if err := w.vector("demand", t.Demand); err != nil {
			return err
		}
		w.requirements("require", t.Requirements)
		w.int("tasks", int64(t.Tasks))
		w.close('}')
	}
	w.close(']')
	return nil
}

// Write writes one record. One that a Reader would refuse is an error, and
// nothing is written.
func (w *Writer) Write(r *trace.Record) error {
	if w.err != nil {
		return w.err
	}
	if r.Time < w.time || r.Time == cluster.Never {
		return fmt.Errorf("trace stream: record at %v after one at %v", r.Time, w.time)
	}
	w.line, w.comma = w.line[:0], false
	w.open("", '{')
	w.int("t", int64(r.Time))
	var err error
	switch r.What {
	case trace.NodeAdded:
		err = w.node("add", &r.Node)
	case trace.NodeChanged:
		err = w.node("change", &r.Node)
	case trace.NodeLost:
		w.open("lose", '{')
		w.uint("node", r.Node.ID)
	case trace.NodeUsed:
		w.open("usage", '{')
		w.uint("node", r.Node.ID)
		err = w.vector("used", r.Node.Usage)
	case trace.TaskSubmitted:
		err = w.task(&r.Task)
	case trace.TaskKilled:
		w.open("kill", '{')
		w.uint("job", r.Task.Job)
		w.uint("task", uint64(r.Task.Index))
	case trace.ConstraintAdded:
		err = w.constraint(&r.Constraint)
	case trace.ConstraintRemoved:
		w.open("release", '{')
		w.string("name", r.Constraint.Name)
	case trace.BudgetAdded:
		err = w.budget(&r.Budget)
	default:
		err = fmt.Errorf("trace stream: a record of unknown kind %v", r.What)
	}
	if err != nil {
		return err
	}
	w.close('}')
	w.close('}')
	w.time = r.Time
	return w.flush()
}

// Close writes what is still buffered. It does not close the writer below.
func (w *Writer) Close() error { return errors.Join(w.err, w.w.Flush()) }

func (w *Writer) node(what string, n *trace.Node) error {
	w.open(what, '{')
	w.uint("node", n.ID)
	if n.Name != "" {
		w.string("name", n.Name)
	}
	if err := w.vector("capacity", n.Capacity); err != nil {
		return err
	}
	w.labels("labels", n.Labels)
	w.labels("groups", n.Groups)
	if n.Tier != 0 {
		w.uint("tier", uint64(n.Tier))
	}
	return nil
}

func (w *Writer) budget(b *cluster.Budget) error {
	if err := cluster.CheckBudget(b); err != nil {
		return fmt.Errorf("trace stream: %w", err)
	}
	w.open("budget", '{')
	w.string("name", b.Name)
	w.int("least", b.Least)
	if b.FreesUnready {
		w.flag("frees_unready")
	}
	return nil
}

func (w *Writer) labels(name string, labels []cluster.Label) {
	if len(labels) == 0 {
		return
	}
	w.open(name, '{')
	for _, l := range labels {
		w.key(l.Key)
		w.quote(l.Value)
	}
	w.close('}')
}

func (w *Writer) task(t *trace.Task) error {
	w.open("submit", '{')
	w.uint("job", t.Job)
	w.uint("task", uint64(t.Index))
	if t.Name != "" {
		w.string("name", t.Name)
	}
	if t.JobTasks != 0 {
		w.uint("job_tasks", uint64(t.JobTasks))
	}
	if t.User != "" {
		w.string("user", t.User)
	}
	if t.Class != 0 {
		w.uint("class", uint64(t.Class))
	}
	if t.Promise != "" {
		w.string("promise", t.Promise)
	}
	if t.Priority != 0 {
		w.int("priority", int64(t.Priority))
	}
	if err := w.vector("demand", t.Demand); err != nil {
		return err
	}
	if err := w.most(t); err != nil {
		return err
	}
	if t.PerNode < 0 {
		return fmt.Errorf("trace stream: job %d task %d has at most %d tasks of its job a node, want 1 or more, or 0 for no limit", t.Job, t.Index, t.PerNode)
	}
	if t.PerNode != 0 {
		w.int("per_node", int64(t.PerNode))
	}
	w.requirements("require", t.Requirements)
	if err := w.prefers(t); err != nil {
		return err
	}
	if err := w.work(t); err != nil {
		return err
	}
	if t.Fails {
		w.flag("fails")
	}
	if t.Running {
		w.uint("on", t.OnNode)
	}
	if t.Together {
		w.flag("together")
	}
	if err := cluster.CheckTags(t.Tags); err != nil {
		return fmt.Errorf("trace stream: job %d task %d: %w", t.Job, t.Index, err)
	}
	w.tags("tags", t.Tags)
	if err := ofJob(w, t); err != nil {
		return err
	}
	if err := cluster.CheckTags(t.Budgets); err != nil {
		return fmt.Errorf("trace stream: job %d task %d: budgets: %w", t.Job, t.Index, err)
	}
	w.standing(t)
	return w.input(t)
}

// ofJob writes what the task says for all of its job.
func ofJob(w *Writer, t *trace.Task) error {
	if t.LongRunning {
		w.flag("long_running")
	}
	if t.Service {
		w.flag("service")
	}
	if t.Gang < 0 {
		return fmt.Errorf("trace stream: job %d task %d has gang %d", t.Job, t.Index, t.Gang)
	}
	if t.Gang > 0 {
		w.int("gang", int64(t.Gang))
	}
	if len(t.Due) == 0 {
		return nil
	}
	if err := trace.CheckDue(t.Due); err != nil {
		return fmt.Errorf("trace stream: job %d task %d is %w", t.Job, t.Index, err)
	}
	w.open("due", '[')
	for _, d := range t.Due {
		w.open("", '[')
		w.int("", int64(d.Within))
		w.int("", d.Worth)
		w.close(']')
	}
	w.close(']')
	return nil
}

// work writes how long the task works, and on which nodes faster or slower.
func (w *Writer) work(t *trace.Task) error {
	if t.Work < 0 {
		return fmt.Errorf("trace stream: job %d task %d has work %d", t.Job, t.Index, int64(t.Work))
	}
	if t.Work != cluster.Never {
		w.int("work", int64(t.Work))
	}
	if len(t.Speeds) == 0 {
		return nil
	}
	if err := trace.CheckSpeeds(t.Speeds); err != nil {
		return fmt.Errorf("trace stream: job %d task %d has %w", t.Job, t.Index, err)
	}
	w.open("speeds", '[')
	for _, s := range t.Speeds {
		w.open("", '[')
		w.string("", s.On.Key)
		w.string("", s.On.Value)
		w.int("", s.Rate)
		w.close(']')
	}
	w.close(']')
	return nil
}

// standing writes whose the task is, and what may become of it.
func (w *Writer) standing(t *trace.Task) {
	w.tags("budgets", t.Budgets)
	if t.Unready {
		w.flag("unready")
	}
	if t.Owner != "" {
		w.string("owner", t.Owner)
	}
	if t.Pinned {
		w.flag("pinned")
	}
	if t.Foreign != "" {
		w.string("foreign", t.Foreign)
	}
	if t.Unowned {
		w.flag("unowned")
	}
	if t.NeverPreempts {
		w.flag("never_preempts")
	}
	if t.Gate != "" {
		w.string("gate", t.Gate)
	}
}

// most writes the kinds of a task's demand that are ranges.
func (w *Writer) most(t *trace.Task) error {
	if t.Max == nil || slices.Equal(t.Max, t.Demand) {
		return nil
	}
	if len(t.Max) != len(w.kinds) {
		return fmt.Errorf("trace stream: max has %d quantities for %d kinds", len(t.Max), len(w.kinds))
	}
	w.open("max", '{')
	for k, q := range t.Max {
		switch least := t.Demand[k]; {
		case q < least || q > cluster.MaxQuantity || q > least && w.kinds[k].Devices:
			return fmt.Errorf("trace stream: job %d task %d takes %d to %d of %s", t.Job, t.Index, least, q, w.kinds[k].Name)
		case q > least:
			w.int(w.kinds[k].Name, q)
		}
	}
	w.close('}')
	return nil
}

func (w *Writer) input(t *trace.Task) error {
	if len(t.Input) == 0 {
		return nil
	}
	w.open("input", '[')
	for _, b := range t.Input {
		if b.Bytes < 0 || b.Bytes > cluster.MaxQuantity || len(b.Replicas) > trace.MostReplicas {
			return fmt.Errorf("trace stream: job %d task %d has a block of %d bytes on %d nodes", t.Job, t.Index, b.Bytes, len(b.Replicas))
		}
		w.open("", '[')
		w.int("", b.Bytes)
		for i, n := range b.Replicas {
			if slices.Contains(b.Replicas[:i], n) {
				return fmt.Errorf("trace stream: job %d task %d has a block twice on node %d", t.Job, t.Index, n)
			}
			w.uint("", n)
		}
		w.close(']')
	}
	w.close(']')
	return nil
}

// prefers writes where the task would rather be.
func (w *Writer) prefers(t *trace.Task) error {
	if len(t.Prefers) == 0 {
		return nil
	}
	w.open("prefer", '[')
	for _, p := range t.Prefers {
		if p.Weight == 0 || p.Weight < -cluster.MostPreference || p.Weight > cluster.MostPreference || len(p.Requirements) == 0 {
			return fmt.Errorf("trace stream: job %d task %d has a preference of weight %d for nodes that meet %d requirements", t.Job, t.Index, p.Weight, len(p.Requirements))
		}
		w.open("", '{')
		w.int("weight", int64(p.Weight))
		w.requirements("require", p.Requirements)
		w.close('}')
	}
	w.close(']')
	return nil
}

func (w *Writer) requirements(name string, list []cluster.Requirement) {
	if len(list) == 0 {
		return
	}
	w.open(name, '[')
	for _, q := range list {
		w.open("", '[')
		w.string("", q.Key)
		w.string("", q.Op.String())
		w.string("", q.Value)
		w.close(']')
	}
	w.close(']')
}

func (w *Writer) vector(name string, v cluster.Vector) error {
	if len(v) != len(w.kinds) {
		return fmt.Errorf("trace stream: %s has %d quantities for %d kinds", name, len(v), len(w.kinds))
	}
	w.open(name, '{')
	for k, q := range v {
		if q < 0 || q > cluster.MaxQuantity {
			return fmt.Errorf("trace stream: %s of %s is %d", name, w.kinds[k].Name, q)
		}
		if q != 0 {
			w.int(w.kinds[k].Name, q)
		}
	}
	w.close('}')
	return nil
}

// open begins an object or an array; name is empty in an array.
func (w *Writer) open(name string, bracket byte) {
	w.name(name)
	w.line = append(w.line, bracket)
	w.comma = false
}

func (w *Writer) close(bracket byte) {
	w.line = append(w.line, bracket)
	w.comma = true
}

func (w *Writer) name(name string) {
	if name != "" {
		w.key(name)
		return
	}
	w.separate()
}

func (w *Writer) key(key string) {
	w.separate()
	w.quote(key)
	w.line = append(w.line, ':')
}

func (w *Writer) separate() {
	if w.comma {
		w.line = append(w.line, ',')
	}
	w.comma = true
}

func (w *Writer) int(name string, n int64) {
	w.name(name)
	w.line = strconv.AppendInt(w.line, n, 10)
}

func (w *Writer) uint(name string, n uint64) {
	w.name(name)
	w.line = strconv.AppendUint(w.line, n, 10)
}

// flag writes true. What is false is omitted.
func (w *Writer) flag(name string) {
	w.name(name)
	w.line = append(w.line, "true"...)
}

func (w *Writer) string(name, value string) {
	w.name(name)
	w.quote(value)
}

func (w *Writer) quote(text string) {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			quoted, err := json.Marshal(text)
			if err != nil {
				panic("trace stream: a string that is not JSON: " + err.Error())
			}
			w.line = append(w.line, quoted...)
			return
		}
	}
	w.line = append(w.line, '"')
	w.line = append(w.line, text...)
	w.line = append(w.line, '"')
}

func (w *Writer) flush() error {
	w.line = append(w.line, '\n')
	_, err := w.w.Write(w.line)
	return err
}
