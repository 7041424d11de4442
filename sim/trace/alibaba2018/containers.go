package alibaba2018

import (
	"encoding/binary"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/spill"
	"fairlead.dev/fairlead/sim/trace"
)

// This file turns rows of container_meta into tasks of services: container_id, machine_id, time_stamp, app_du, status,
// cpu_request, cpu_limit, mem_size.

const (
	serviceClass    = 3
	servicePriority = 9
)

// services are the containers, and the jobs that they belong to.
type services struct {
	containers map[string]*container
	apps       map[string]*app
}

type container struct {
	app   *app
	index uint32
	lives bool
}

// app is an app_du.
type app struct {
	job        uint64
	containers uint32 // so far
}

func (s *Source) readContainer(row *trace.Row) error {
	for _, field := range []int{1, 4} {
		if row.Empty(field) {
			row.Fail(field, map[int]string{1: "a container's name", 4: "the app_du that it belongs to"}[field])
		}
	}
	at := second(row, 3, "a time")
	stopped := byte(0)
	if string(row.Text(5)) == "stopped" {
		stopped = 1
	}
	b := append(spill.AppendText([]byte{containerRow}, row.Text(1)), stopped)
	b = spill.AppendText(b, row.Text(4))
	b = spill.AppendText(b, row.Text(2))
	b = binary.AppendVarint(b, s.amount(row, 6, cpuPlaces, "a request in hundredths of a core"))
	b = binary.AppendVarint(b, s.amount(row, 8, memoryPlaces, "memory in hundredths of the largest machine"))
	if err := row.Err(); err != nil {
		return err
	}
	s.last = max(s.last, cluster.Time(at)*cluster.Second)
	return s.sorted.Add(at, containerRow, b)
}

// container makes the row a record, unless it says nothing new.
func (s *Source) container(r *trace.Record, row *spill.Cursor) bool {
	name := row.Text()
	stopped := row.Byte() == 1
	c := s.services.containers[string(name)]
	if c == nil {
		c = &container{app: s.services.app(row.Text())}
		c.index = c.app.containers
		c.app.containers++
		s.services.containers[string(name)] = c
	} else {
		row.Text()
	}
	was := c.lives
	c.lives = !stopped
	r.Task = trace.Task{Job: c.app.job, Index: c.index}
	switch {
	case was && stopped:
		r.What = trace.TaskKilled
		return true
	case was || stopped:
		return false
	}
	on := row.Text()
	s.demand = [2]int64{row.Varint(), row.Varint()}
	r.What = trace.TaskSubmitted
	r.Task.Name, r.Task.Class, r.Task.Priority = string(name), serviceClass, servicePriority
	r.Task.Demand, r.Task.Work = s.demand[:], cluster.Never
	r.Task.LongRunning, r.Task.Service = true, true
	if r.Time == 0 && len(on) > 0 {
		r.Task.Running, r.Task.OnNode = true, s.named(on).id
	}
	return true
}

// app is the app_du of that name.
func (s *services) app(name []byte) *app {
	a := s.apps[string(name)]
	if a == nil {
		a = &app{job: uint64(len(s.apps))}
		s.apps[string(name)] = a
	}
	return a
}
