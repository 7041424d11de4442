package setup

import (
	"errors"
	"fmt"
	"math"

	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/openb"
)

func openbFormat() Format {
	return Format{
		Name:  "openb",
		Lacks: "users, priorities, limits per node, kills, or nodes that come and go",
		Help: `  openb:DIR?list=default&nodes=gpu&inflate=X&shuffle=true|false&timed=true&seed=S
                   Alibaba's GPU trace of 2023: pods arrive one a second and stay. With
                   inflate=1.3 they are shuffled, and copied until they ask for 130 %
                   of the GPUs, as in the experiments of FGD; timed=true keeps the times
`,
		options: []string{"list", "nodes", "inflate", "shuffle", "timed", "seed"},
		check: func(s URL) error {
			o, err := s.openb(0)
			return errors.Join(err, s.named(o.Validate()))
		},
		open: func(s URL, seed uint64, lenient bool) (trace.Source, error) {
			o, err := s.openb(seed)
			if err != nil {
				return nil, err
			}
			o.Lenient = lenient
			return openb.Open(s.Path, o)
		},
	}
}

// openb are the options of openb.
func (s URL) openb(seed uint64) (openb.Options, error) {
	o := openb.Default()
	o.Seed = seed
	if s.values.Has("list") {
		o.List = s.values.Get("list")
	}
	if s.values.Has("nodes") {
		o.Nodes = s.values.Get("nodes")
	}
	err := errors.Join(
		s.number("inflate", 100, func(v float64) { o.Inflate, o.Shuffle = v, v > 0 }),
		s.truth("shuffle", func(v bool) { o.Shuffle = v }),
		s.truth("timed", func(v bool) { o.Timed = v }),
		s.whole("seed", 0, math.MaxInt64, func(v int64) { o.Seed = uint64(v) }),
	)
	return o, err
}

// truth hands on the option of that name, true or false, if it is given.
func (s URL) truth(name string, set func(bool)) error {
	switch text := s.values.Get(name); {
	case !s.values.Has(name):
		return nil
	case text == "true" || text == "false":
		set(text == "true")
		return nil
	default:
		return fmt.Errorf("%s: %s=%s, want true or false", s.Text, name, text)
	}
}

// named puts the source before an error.
func (s URL) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", s.Text, err)
}
