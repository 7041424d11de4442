package workload

import (
	"errors"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// Sampled is the requests of a sample of the users of a workload like Google's, with a
// cluster as large as they need. Time goes in whole seconds, as in the simulator of the
// QoS paper's authors; in theirs and here, what arrives and ends within a second does so
// at once.
type Sampled struct {
	Users    []string
	Requests int
	// Peak is what the requests ask for at one time on a host without limits.
	Peak  cluster.Vector
	Fleet *Fleet
	of    Google
}

// UsersOf describes the users of the workload, over its length, which must have an end.
func UsersOf(g Google) ([]User, error) {
	if g.Length == 0 || g.Length == cluster.Never {
		return nil, errors.New("workload: Length is not given; users are known by what they do until then")
	}
	src, err := New(g)
	if err != nil {
		return nil, err
	}
	return Users(inSeconds{src}, g.Length)
}

// Sample takes some of the workload's users, whom UsersOf describes. The seed of the
// sample draws the hosts, too.
func Sample(g Google, users []User, sample UserSample) (*Sampled, error) {
	s := &Sampled{Users: sample.Choose(users), of: g}
	for i, at := 0, 0; i < len(users) && at < len(s.Users); i++ {
		if users[i].Name == s.Users[at] {
			s.Requests += users[i].Requests
			at++
		}
	}
	src, err := New(g)
	if err != nil {
		return nil, err
	}
	nodes, err := Nodes(src)
	if err != nil {
		return nil, err
	}
	if src, err = s.tasks(); err != nil {
		return nil, err
	}
	if s.Peak, err = Peak(src, g.Length); err != nil {
		return nil, err
	}
	s.Fleet, err = NewFleet(nodes, src.Kinds(), s.Peak, sample.Seed)
	return s, err
}

// tasks is the workload with the tasks of the users alone.
func (s *Sampled) tasks() (trace.Source, error) {
	src, err := New(s.of)
	if err != nil {
		return nil, err
	}
	return OfUsers(inSeconds{src}, s.Users), nil
}

// Open opens the workload on that share of the cluster: 1 is all of it.
func (s *Sampled) Open(share float64) (trace.EndingSource, error) {
	src, err := s.tasks()
	if err != nil {
		return nil, err
	}
	return &onNodes{Source: src, nodes: s.Fleet.Part(share), end: s.of.Length}, nil
}

// inSeconds cuts times to whole seconds. No task takes less than one.
type inSeconds struct{ trace.Source }

// Next fills in the next record, in whole seconds.
func (s inSeconds) Next(r *trace.Record) error {
	err := s.Source.Next(r)
	if err != nil {
		return err
	}
	r.Time -= r.Time % cluster.Second
	if r.What == trace.TaskSubmitted && r.Task.Work != cluster.Never {
		r.Task.Work = max(cluster.Second, (r.Task.Work+cluster.Second/2)/cluster.Second*cluster.Second)
	}
	return nil
}
