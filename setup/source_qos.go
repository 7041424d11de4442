package setup

import (
	"errors"
	"math"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/qos"
)

func qosFormat() Format {
	return Format{
		Name:  "qos",
		Lacks: "nodes, users, names, requirements, kills, or kinds other than cpu and memory",
		Help: `  qos:FILE?hosts=20&cpu=3.75&memory=3.75
                   a workload of the QoS paper, and hosts for it
`,
		options: []string{"hosts", "cpu", "memory"},
		check:   func(s URL) error { _, err := s.qos(false); return err },
		open: func(s URL, _ uint64, lenient bool) (trace.Source, error) {
			o, err := s.qos(lenient)
			if err != nil {
				return nil, err
			}
			return qos.Open(s.Path, o)
		},
	}
}

// qos are the options of a workload of the QoS paper.
func (s URL) qos(lenient bool) (qos.Options, error) {
	const most = cluster.MaxQuantity / 1e6
	o := qos.Default()
	o.Lenient = lenient
	err := errors.Join(
		s.whole("hosts", 1, 1_000_000, func(v int64) { o.Hosts = int(v) }),
		s.number("cpu", most, func(v float64) { o.CPU = int64(math.Round(v * 1e6)) }),
		s.number("memory", most, func(v float64) { o.Memory = int64(math.Round(v * 1e6)) }),
	)
	return o, err
}
