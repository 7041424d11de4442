package setup

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/workload"
)

// synthetic is the format of what is made up.
const synthetic = "synthetic"

func syntheticFormat() Format {
	var options []string
	for _, g := range Generators() {
		options = append(options, g.names()...)
	}
	slices.Sort(options)
	return Format{
		Name:  synthetic,
		Lacks: "any workload at all: it describes what is to be made up",
		Help: `  synthetic:google?nodes=1000&tasks-per-node=11.57&rate=1&churn=0&constrained=0.06&seed=1
                   a cluster like Google's of 2011, made up; the seed of the run if none is given
  synthetic:google?nodes=12500&sample=1&size=0.9&length=29d
                   a tenth of its users, and the share of the nodes that they need
  synthetic:ec2?nodes=1000&tasks=300&load=0.5&seed=1
                   nodes of 19 types of Amazon's EC2 in equal numbers, half of each
                   in use, and requests that arrive at once, as in ECSched
`,
		options: slices.Compact(options),
		check:   func(s URL) error { _, err := s.generator(0); return err },
		open: func(s URL, seed uint64, _ bool) (trace.Source, error) {
			g, err := s.generator(seed)
			if err != nil {
				return nil, err
			}
			return g.open()
		},
	}
}

// Generator is a workload that can be made up.
type Generator struct {
	Name    string
	What    string // in a line
	Lasts   bool   // for as long as is asked for; otherwise it has an end of its own
	Options []GeneratorOption
	// make reads the options of a synthetic source, for a run with that seed.
	make func(s URL, seed uint64) (made, error)
}

// GeneratorOption is an option of a generator, and what it says.
type GeneratorOption struct{ Name, What string }

func (g Generator) names() []string {
	var names []string
	for _, o := range g.Options {
		names = append(names, o.Name)
	}
	return names
}

// Has reports whether the generator has an option of that name.
func (g Generator) Has(option string) bool { return slices.Contains(g.names(), option) }

// made is a generator with its options.
type made struct {
	open    func() (trace.Source, error)
	endless bool
}

// Generators lists what can be made up.
func Generators() []Generator {
	return []Generator{
		{Name: "google", What: "A cluster like Google's of 2011", Lasts: true, make: URL.google, Options: []GeneratorOption{
			{"nodes", "how many `nodes` (default 1000)"},
			{"tasks-per-node", "how many `tasks` there are for each node at the start (default 11.57)"},
			{"rate", "multiplies how often jobs arrive; `factor` 1 is Google's mean per node (default 1)"},
			{"churn", "multiplies how often nodes are lost; `factor` 1 is once in 41 days for each (default 0)"},
			{"constrained", "`share` of tasks with requirements (default 0.06)"},
			{"seed", "`number` that chooses one of the workloads that fit (default 1)"},
			{"cores", "how many `cores` the largest node has; with memory, all is measured in cores and GiB (default: in shares of that node)"},
			{"memory", "how many `GiB` the largest node has"},
			{"sample", "`number` of a sample of users: a tenth of each of six groups, on as many nodes as they need (default all users)"},
			{"size", "`share` of the nodes that the sample needs (default 1)"},
			{"length", "`time` over which the users of the sample are known, and after which it ends (default 29d)"},
		}},
		{Name: "ec2", What: "Half-loaded nodes of Amazon's EC2, and requests that arrive at once", make: URL.ec2, Options: []GeneratorOption{
			{"nodes", "how many `nodes` (default 1000)"},
			{"tasks", "how many `requests` (default 300)"},
			{"load", "`share` of each node in use at the start (default 0.5)"},
			{"seed", "`number` that chooses one of the workloads that fit (default 1)"},
		}},
	}
}

// generator is what a synthetic source describes.
func (s URL) generator(seed uint64) (made, error) {
	var names []string
	for _, g := range Generators() {
		if g.Name != s.Path {
			names = append(names, g.Name)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(s.values)) {
			if name != "slots" && !g.Has(name) {
				return made{}, fmt.Errorf("%s: %w", s.Text, nearest.Unknown("option", name, g.names()))
			}
		}
		return g.make(s, seed)
	}
	return made{}, fmt.Errorf("%s: %w", s.Text, nearest.Unknown("generator", s.Path, names))
}

func (s URL) google(seed uint64) (made, error) {
	g := workload.Default()
	g.Seed = seed
	err := errors.Join(
		s.whole("nodes", 1, 1_000_000, func(v int64) { g.Nodes = int(v) }),
		s.number("tasks-per-node", 100, func(v float64) { g.TasksPerNode = v }),
		s.number("rate", 1e4, func(v float64) { g.Rate = v }),
		s.number("churn", 1e4, func(v float64) { g.Churn = v }),
		s.number("constrained", 1, func(v float64) { g.Constrained = v }),
		s.whole("seed", 0, math.MaxInt64, func(v int64) { g.Seed = uint64(v) }),
	)
	if err == nil {
		_, _, err = s.largest()
	}
	if err == nil {
		err = g.Validate()
	}
	if err == nil && s.sampled() {
		return s.sample(g)
	}
	endless := g.Churn > 0 || s.Role != NodesAlone
	// What is not used is not made: it has no end, and would be read for the
	// sake of what comes between.
	switch s.Role {
	case NodesAlone:
		g.Rate, g.TasksPerNode = 0, 0
	case TasksAlone:
		g.Churn = 0
	case Everything:
	}
	return made{func() (trace.Source, error) { return s.absolute(workload.New(g)) }, endless}, err
}

// sampled reports whether anything is said of a sample of users.
func (s URL) sampled() bool {
	return s.values.Has("sample") || s.values.Has("size") || s.values.Has("length")
}

// sample is the work of some of the users of a cluster like Google's, for a time.
func (s URL) sample(g workload.Google) (made, error) {
	g.Length = 29 * cluster.Day
	number, size := int64(0), 1.0
	err := errors.Join(
		s.whole("sample", 1, math.MaxInt32, func(v int64) { number = v }),
		s.number("size", 1, func(v float64) { size = v }),
	)
	if err == nil && s.values.Has("length") {
		g.Length, err = ParseTime(s.values.Get("length"))
		if err == nil && g.Length == 0 {
			err = errors.New("want more than 0")
		}
		if err != nil {
			err = fmt.Errorf("%s: length: %w", s.Text, err)
		}
	}
	switch {
	case err != nil:
	case number == 0:
		err = fmt.Errorf("%s: size and length are those of a sample of users; add sample=1", s.Text)
	case size == 0:
		err = fmt.Errorf("%s: size=%s leaves no node; want more than 0 and at most 1", s.Text, s.values.Get("size"))
	case g.Churn > 0:
		err = fmt.Errorf("%s: the nodes of a sample are never lost; leave churn out", s.Text)
	}
	return made{open: func() (trace.Source, error) {
		users, err := workload.UsersOf(g)
		if err != nil {
			return nil, err
		}
		sampled, err := workload.Sample(g, users, workload.PublishedSample(uint64(number)))
		if err != nil {
			return nil, err
		}
		return s.absolute(sampled.Open(size))
	}}, err
}

func (s URL) ec2(seed uint64) (made, error) {
	e := workload.DefaultEC2()
	e.Seed = seed
	err := errors.Join(
		s.whole("nodes", 1, 1_000_000, func(v int64) { e.Nodes = int(v) }),
		s.whole("tasks", 0, 100_000_000, func(v int64) { e.Tasks = int(v) }),
		s.number("load", 1, func(v float64) { e.Load = v }),
		s.whole("seed", 0, math.MaxInt64, func(v int64) { e.Seed = uint64(v) }),
	)
	if s.Role == TasksAlone {
		e.Load = 0 // it runs on nodes that are not there
	}
	return made{open: func() (trace.Source, error) { return workload.NewEC2(e) }}, err
}

// Endless says whether the source goes on for ever in the role it has.
func (s URL) Endless() bool {
	if s.Format != synthetic {
		return false
	}
	g, err := s.generator(0)
	return err == nil && g.endless
}

func absoluteKinds() []cluster.Kind {
	return []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1000}, {Name: "memory", Unit: "GiB", PerUnit: 1 << 30}}
}

// largest is what the largest node has, in cores and GiB, by which shares of that node are
// measured; nil where it is not said, and quantities are such shares.
func (s URL) largest() (kinds []cluster.Kind, has cluster.Vector, err error) {
	if !s.values.Has("cores") && !s.values.Has("memory") {
		return nil, nil, nil
	}
	kinds = absoluteKinds()
	has = make(cluster.Vector, len(kinds))
	err = errors.Join(
		s.whole("cores", 1, 10_000, func(v int64) { has[0] = v * kinds[0].PerUnit }),
		s.whole("memory", 1, 10_000, func(v int64) { has[1] = v * kinds[1].PerUnit }),
	)
	if err == nil && slices.Contains(has, 0) {
		err = fmt.Errorf("%s: cores and memory go together: what the largest node has of each, memory in GiB", s.Text)
	}
	return kinds, has, err
}

// absolute is the source in cores and GiB, if it is said what the largest node has.
func (s URL) absolute(src trace.Source, err error) (trace.Source, error) {
	kinds, has, wrong := s.largest()
	if err = errors.Join(err, wrong); err != nil || has == nil {
		return src, err
	}
	return trace.Scale(src, kinds, has)
}

// agreeing adds to an error about units which options of one of the sources make them agree,
// if it has such.
func agreeing(err error, sources ...URL) error {
	units, is := errors.AsType[*trace.UnitsError](err)
	if !is || !slices.ContainsFunc(absoluteKinds(), func(k cluster.Kind) bool { return k.Unit == units.Nodes.Unit || k.Unit == units.Tasks.Unit }) {
		return err
	}
	for _, s := range sources {
		if s.Format == synthetic && s.Path == "google" && !s.values.Has("cores") {
			sign := "?"
			if strings.Contains(s.Text, sign) {
				sign = "&"
			}
			return fmt.Errorf("%w: say what the largest node has, memory in GiB, such as %s%scores=32&memory=128", err, s.Text, sign)
		}
	}
	return err
}
