package schedtest

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
)

// This file reads the events of a story that change what tasks ask for, and
// that forget shapes and sets.

// reshapeEvents reads an event that gives tasks another shape. What is not
// named of the demand and of the priority stays as it is; apart, per-node, require and
// prefer are as named.
func (s *story) reshapeEvents(a *args, events []cluster.Event) ([]cluster.Event, error) {
	state := s.core.View()
	perNode, err := a.perNode()
	if err != nil {
		return nil, err
	}
	name, err := a.name()
	if err != nil {
		return nil, err
	}
	task, err := s.live(name)
	if err != nil {
		return nil, err
	}
	row := state.Task(task.row)
	asked := state.Shape(row.Shape)
	spec := cluster.Shape{Demand: slices.Clone(asked.Demand), Max: asked.Max, PerNode: perNode}
	if err := a.ranges(s.kinds, &spec); err != nil {
		return nil, err
	}
	priority, err := a.integer("priority", int64(row.Priority))
	if err != nil {
		return nil, err
	}
	shape, events, err := s.shapeOf(spec, a, events)
	if err != nil {
		return nil, err
	}
	return append(events, cluster.TaskReshaped{Task: task.row, Seq: task.seq, Shape: shape, Priority: int32(priority)}), nil
}

// disruption reads how the runs of a job may be evicted: never if they are kept, all at once if whole.
func disruption(a *args) cluster.Disruption {
	kept, whole := a.flag("kept"), a.flag("whole")
	switch {
	case kept:
		return cluster.DisruptNever
	case whole:
		return cluster.DisruptTogether
	}
	return cluster.DisruptSingly
}

// changeJobEvent reads an event that changes a job.
func changeJobEvent(s *story, a *args, events []cluster.Event) ([]cluster.Event, error) {
	gang, err := a.integer("gang", 0)
	if err != nil {
		return nil, err
	}
	disrupted := disruption(a)
	name, err := a.name()
	if err != nil {
		return nil, err
	}
	job, known := s.jobs[name]
	if !known {
		return nil, fmt.Errorf("unknown job %q", name)
	}
	return append(events, cluster.JobChanged{Job: job.row, Disruption: disrupted, Gang: int32(gang)}), nil
}

// protectedEvent reads an event that protects a task's run until=TIME, or for ever.
func (s *story) protectedEvent(a *args, events []cluster.Event) ([]cluster.Event, error) {
	until, err := a.moment("until", cluster.Never)
	if err != nil {
		return nil, err
	}
	name, err := a.name()
	if err != nil {
		return nil, err
	}
	task, err := s.live(name)
	if err != nil {
		return nil, err
	}
	return append(events, cluster.TaskProtected{
		Task: task.row, Attempt: s.core.View().Task(task.row).Attempt, Until: until, Reason: a.value("reason"),
	}), nil
}

// forgetEvent reads an event that forgets a shape or a set, named by what it is
// made of.
func (s *story) forgetEvent(a *args, events []cluster.Event) ([]cluster.Event, error) {
	known := len(events)
	if a.of == "forget-shape" {
		shape, events, err := s.shape(a, events)
		switch {
		case err != nil:
			return nil, err
		case len(events) > known:
			return nil, fmt.Errorf("there is no such shape")
		}
		return append(events, cluster.ShapeForgotten{Shape: shape}), nil
	}
	text := strings.Join(a.values("require"), ",")
	for i := range s.sets {
		if s.sets[i].text == text && text != "" {
			return append(events, cluster.SetForgotten{Set: cluster.SetID(i + 1)}), nil
		}
	}
	return nil, fmt.Errorf("there is no set of require=%s", text)
}

// forgot gives up the names of what the core has forgotten by now.
func (s *story) forgot(events []cluster.Event, wrong error) {
	if wrong != nil {
		return // it was refused, or something beside it: the names stay
	}
	for _, e := range events {
		switch e := e.(type) {
		case cluster.ShapeForgotten:
			for key, row := range s.shapes {
				if row == e.Shape {
					delete(s.shapes, key)
					s.shapeRows.Give(uint32(row))
				}
			}
		case cluster.SetForgotten:
			s.sets[e.Set-1].text = ""
		case cluster.ClassForgotten:
			s.classes.names[e.Class] = ""
		default:
		}
	}
}
