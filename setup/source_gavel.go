package setup

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/gavel"
)

// gavelFormat is a trace of Gavel, with a table of throughputs.
func gavelFormat() Format {
	return Format{
		Name: "gavel", Lacks: lacksOfJobs,
		Help: `  gavel:FILE?table=FILE&worker=v100&nodes=N&gpus=8&pod=8&gangs=true
                   a trace of Gavel, in steps of training, and the table of throughputs
                   that says how many of them GPUs of that kind do in a second;
                   kinds=v100:5,k80:5 in place of nodes: so many nodes of each kind, on
                   which jobs are as fast as the table says; with prefer=true they
                   prefer those on which they are faster
`,
		options: []string{"table", "worker", "nodes", "kinds", "prefer", "gpus", "pod", "gangs"},
		check: func(s URL) error {
			o, err := s.gavel()
			if o.Table == "" {
				err = errors.Join(err, fmt.Errorf("%s: the trace counts steps; want table=FILE, a table of throughputs such as Gavel's simulation_throughputs.json", s.Text))
			}
			return err
		},
		open: func(s URL, _ uint64, lenient bool) (trace.Source, error) {
			o, err := s.gavel()
			if err != nil {
				return nil, err
			}
			o.Lenient = lenient
			return gavel.Open(s.Path, o)
		},
	}
}

// gavel are the options of a trace of Gavel.
func (s URL) gavel() (o gavel.Options, err error) {
	o = gavel.Default()
	o.Options, err = s.gpuJobs(o.Options)
	o.Table = throughputs(s)
	if s.values.Has("worker") {
		o.Worker = s.values.Get("worker")
	}
	return o, errors.Join(err, gavelKinds(s, &o), s.truth("prefer", func(v bool) { o.Prefer = v }))
}

// gavelKinds are nodes with several kinds of GPU.
func gavelKinds(s URL, o *gavel.Options) error {
	if !s.values.Has("kinds") {
		if s.values.Has("prefer") {
			return fmt.Errorf("%s: prefer is about nodes of several kinds; want kinds, such as kinds=v100:5,k80:5", s.Text)
		}
		return nil
	}
	if s.values.Has("nodes") {
		return fmt.Errorf("%s: nodes and kinds both say how many nodes there are; want one of them", s.Text)
	}
	total := 0
	for text := range strings.SplitSeq(s.values.Get("kinds"), ",") {
		name, count, _ := strings.Cut(text, ":")
		nodes, err := strconv.Atoi(count)
		again := slices.ContainsFunc(o.Kinds, func(k gavel.Kind) bool { return k.Name == name })
		if name == "" || strings.Contains(name, "|") || again || err != nil || nodes < 1 || nodes > mostOfKinds-total || len(o.Kinds) == trace.MostSpeeds-1 {
			return fmt.Errorf("%s: kinds=%s, want kinds of GPUs with numbers of nodes, each once, such as v100:5,k80:5; at most %d nodes", s.Text, s.values.Get("kinds"), mostOfKinds)
		}
		total += nodes
		o.Kinds = append(o.Kinds, gavel.Kind{Name: name, Nodes: nodes})
	}
	return nil
}

// mostOfKinds bounds the nodes that are asked for by their kinds.
const mostOfKinds = 1_000_000

// throughputs is the file with the table of throughputs that a source reads beside its own; empty where it reads none.
func throughputs(s URL) string { return s.values.Get("table") }
