package setup

import (
	"errors"

	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/dlrm"
)

func dlrmFormat() Format {
	return Format{
		Name:  "dlrm",
		Lacks: "nodes, users, priorities, kills, or requirements other than a role",
		Help: `  dlrm:FILE?cn=2400&hn=512&gpu=8
                   Alibaba's trace of 2025, services for recommendations: 31 days of
                   instances on CPU nodes (cn) and on nodes with GPUs (hn). The trace
                   has no nodes: these are made up, so that its peak fits
`,
		options: []string{"cn", "hn", "gpu"},
		check:   func(s URL) error { _, err := s.dlrm(false); return err },
		open: func(s URL, _ uint64, lenient bool) (trace.Source, error) {
			o, err := s.dlrm(lenient)
			if err != nil {
				return nil, err
			}
			return dlrm.Open(s.Path, o)
		},
	}
}

// dlrm are the options of the trace of recommendation services.
func (s URL) dlrm(lenient bool) (dlrm.Options, error) {
	o := dlrm.Default()
	o.Lenient = lenient
	err := errors.Join(
		s.whole("cn", 0, 1_000_000, func(v int64) { o.CPUNodes = int(v) }),
		s.whole("hn", 0, 1_000_000, func(v int64) { o.GPUNodes = int(v) }),
		s.whole("gpu", 0, 1024, func(v int64) { o.GPUs = int(v) }),
	)
	return o, err
}
