package setup

import (
	"errors"

	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/alibaba2020"
	"fairlead.dev/fairlead/sim/trace/alibaba2026"
	"fairlead.dev/fairlead/sim/trace/gpujobs"
)

// This file is Alibaba's GPU traces that say which nodes there are, and replay jobs in time.

func alibaba2020Format() Format {
	return Format{
		Name: "alibaba2020", Lacks: lacksOfJobs,
		Help: `  alibaba2020:DIR?models=true&gangs=true
                   Alibaba's GPU trace of 2020: jobs of several kinds of tasks that share
                   GPUs or have several. models=true: on GPUs of the type that they had;
                   gangs=true: all pods of a job begin together
`,
		options: []string{"models", "gangs"},
		check:   func(s URL) error { _, err := s.alibaba2020(); return err },
		open: func(s URL, _ uint64, lenient bool) (trace.Source, error) {
			o, err := s.alibaba2020()
			if err != nil {
				return nil, err
			}
			o.Lenient = lenient
			return alibaba2020.Open(s.Path, o)
		},
	}
}

// alibaba2020 are the options of the trace of 2020.
func (s URL) alibaba2020() (alibaba2020.Options, error) {
	o := alibaba2020.Options{Options: gpujobs.Options{Loose: true, TasksOnly: s.Role == TasksAlone}}
	err := errors.Join(
		s.truth("models", func(v bool) { o.Models = v }),
		s.truth("gangs", func(v bool) { o.Loose = !v }),
	)
	return o, err
}

func alibaba2026Format() Format {
	return Format{
		Name: "alibaba2026", Lacks: lacksOfJobs,
		Help: `  alibaba2026:DIR?gangs=true
                   Alibaba's GPU trace of 2026: jobs of high priority and on spot, on nodes
                   of six GPU models; gangs=true: the pods of a job begin together
`,
		options: []string{"gangs"},
		check:   func(s URL) error { _, err := s.alibaba2026(); return err },
		open: func(s URL, _ uint64, lenient bool) (trace.Source, error) {
			o, err := s.alibaba2026()
			if err != nil {
				return nil, err
			}
			o.Lenient = lenient
			return alibaba2026.Open(s.Path, o)
		},
	}
}

// alibaba2026 are the options of the trace of 2026.
func (s URL) alibaba2026() (gpujobs.Options, error) {
	o := gpujobs.Options{Loose: true, TasksOnly: s.Role == TasksAlone}
	return o, s.truth("gangs", func(v bool) { o.Loose = !v })
}
