package setup

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/kubernetes"
)

// Sources are where nodes and tasks come from.
type Sources struct {
	Cluster, Workload URL // the same, if one has both
	Beside            URL // further tasks; the zero value: none
	Lenient           bool
	Until             cluster.Time // 0: their end

	dump *sharedDump
}

// sharedDump is a cluster's dump that was read once for all runs, as they all need it as it is.
type sharedDump struct {
	once   sync.Once
	opened Opened
	err    error
}

// open opens the cluster's dump, or gives it once more.
func (d *sharedDump) open(s URL, seed uint64, lenient bool) (Opened, error) {
	d.once.Do(func() { d.opened, d.err = s.Open(seed, lenient) })
	if d.err != nil {
		return Opened{}, d.err
	}
	again := d.opened.Dump().Again()
	return Opened{Source: again, readers: []trace.Source{again}, End: d.opened.End}, nil
}

// NewSources says of each source what is used of it.
func NewSources(nodes, tasks, beside URL, lenient bool) Sources {
	if nodes.Text != tasks.Text {
		nodes.Role, tasks.Role = NodesAlone, TasksAlone
	}
	beside.Role = TasksAlone
	return Sources{Cluster: nodes, Workload: tasks, Beside: beside, Lenient: lenient, dump: &sharedDump{}}
}

// Stdin reports whether the standard input is read, which can be done once, and is by a dump for all runs.
func (s *Sources) stdin() bool {
	for _, of := range []URL{s.Cluster, s.Workload, s.Beside} {
		if of.File() == trace.Stdin && of.Format != kubernetesName {
			return true
		}
	}
	return false
}

// TasksFrom says where all tasks come from.
func (s *Sources) TasksFrom() string {
	if s.Beside.Text == "" {
		return s.Workload.Text
	}
	return s.Workload.Text + " + " + s.Beside.Text
}

// Change says what is to be different about the cluster, which has to be a dump of one.
func (s *Sources) Change(c *kubernetes.Changes) error {
	if s.Cluster.Format != kubernetesName || s.Workload.Format != kubernetesName {
		return fmt.Errorf("%s: %w", s.Cluster.Text, ErrNoDump)
	}
	s.Cluster.changes, s.Workload.changes = c, c
	s.dump = &sharedDump{} // what was read before is not what it would be
	return nil
}

// classes is the table of what was promised where nobody says which: none for a cluster's dump, as a priority
// of Kubernetes promises nothing.
func (s *Sources) classes() string {
	for _, of := range []URL{s.Cluster, s.Workload, s.Beside} {
		if of.Format == kubernetesName {
			return noClasses
		}
	}
	return "google"
}

// certain reports whether everything is there from the start, and nothing is drawn by chance: a cluster's dump.
func (s *Sources) certain() bool {
	return s.Cluster.Format == kubernetesName && s.Workload.Format == kubernetesName && s.Beside.Text == ""
}

// noClasses is the preset of those who promise nothing.
const noClasses = "none"

// endless reports whether a run has to be ended. Google's trace says itself when it ends.
func (s *Sources) endless() bool {
	return s.Workload.Endless() || s.Beside.Endless() || s.Cluster.Endless() && s.Workload.Format != "google2011"
}

// Check says which files are not there. The error is SpecErrors; of one source for both nodes and
// tasks it is about source.cluster.
func (s *Sources) Check() error {
	var wrong SpecErrors
	for _, of := range []struct {
		path   string
		source URL
	}{{"source.cluster", s.Cluster}, {"source.workload", s.Workload}, {"source.beside", s.Beside}} {
		file := of.source.File()
		if file == "" || file == trace.Stdin || of.path == "source.workload" && of.source.Text == s.Cluster.Text {
			continue
		}
		if _, err := os.Stat(file); err != nil {
			wrong = append(wrong, SpecError{of.path, missing(file, err)})
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return wrong
}

// missing says of a file why it cannot be looked at.
func missing(path string, err error) error {
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		err = cause.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// Open opens all for a run with that seed, as one source.
func (s *Sources) Open(seed uint64) (Opened, error) {
	a, err := s.openBoth(seed)
	if err != nil || s.Beside.Text == "" {
		return a, err
	}
	b, err := s.Beside.Open(seed, s.Lenient)
	if err != nil {
		return Opened{}, errors.Join(err, a.Close())
	}
	until := cmp.Or(s.Until, cluster.Never)
	all, err := trace.Beside(trace.Limit(a, until), trace.Limit(b, until))
	if err != nil {
		return Opened{}, errors.Join(agreeing(err, s.Cluster, s.Workload, s.Beside), a.Close(), b.Close())
	}
	return Opened{Source: all, readers: append(a.readers, b.readers...), End: max(a.End, b.End)}, nil
}

// openBoth opens the cluster and the workload as one source. Where both are
// the same, it is read once, and so are two dumps of clusters. Of two others, neither is read past the end of the run.
func (s *Sources) openBoth(seed uint64) (Opened, error) {
	nodes, tasks := s.Cluster, s.Workload
	if tasks.slots == 0 && nodes.slots > 0 {
		tasks.slots = nodes.slots // a slot a task, whatever it asks for
	}
	if nodes.Format == kubernetesName && nodes.Text == tasks.Text && nodes.slots == 0 {
		return s.dump.open(nodes, seed, s.Lenient)
	}
	if nodes.Format == kubernetesName && tasks.Format == kubernetesName && nodes.slots == 0 && tasks.slots == 0 && nodes.Text != tasks.Text {
		tasks.nodes = &nodes
		return s.dump.open(tasks, seed, s.Lenient)
	}
	a, err := nodes.Open(seed, s.Lenient)
	if err != nil || nodes.Text == tasks.Text {
		return a, err
	}
	b, err := tasks.Open(seed, s.Lenient)
	if err != nil {
		return Opened{}, errors.Join(err, a.Close())
	}
	until := cmp.Or(s.Until, b.End, cluster.Never)
	merged, err := trace.Merge(trace.Limit(a, until), trace.Limit(b, until))
	if err != nil {
		return Opened{}, errors.Join(agreeing(err, nodes, tasks), a.Close(), b.Close())
	}
	return Opened{Source: merged, readers: append(a.readers, b.readers...), End: b.End}, nil
}
