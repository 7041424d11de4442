package lane

import (
	"slices"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/conflict"
	"fairlead.dev/fairlead/sched"
)

// This file places what the plan has a place for and commit would not let in there: hard constraints that
// bind who comes hold in an order, which a plan of all at once does not have (holdsInTheEnd).
//
// The containers of such an application come one after the other, each to that of the nodes that let it in
// then which Options.Quick chooses, beside all that the plan places. It is not gone back on where one before it
// went, and each is held to all hard constraints by itself. So an application waits that could come only if its
// first container stood elsewhere.
//
// Who finds no node so, be it that all who are leaving had left, is shut out: the round plans again without it
// (planAll), or others would not get what the plan keeps for it.
//
// Cost: of each container of an application that was refused a look at all nodes, and a problem posed.

// following is the plan as far as it comes true, to which those that were refused are added.
type following struct {
	*posed
	trial *sched.Trial
	base  constraint.Assignment
	out   *sched.Plan
}

// oneAfterOther adds bundles of the units, none of which has come as planned, and returns those that come, and the
// tasks of those that are shut out.
func (q *posed) oneAfterOther(t *sched.Trial, a constraint.Assignment, left []unit, out *sched.Plan) (come []unit, shut []cluster.TaskID) {
	f := following{q, t, slices.Clone(a), out}
	for _, u := range left {
		f.takeBack(u)
	}
	left = slices.DeleteFunc(left, func(u unit) bool { return !q.bound(t.View(), u) })
	for before := -1; len(left) != before; {
		before, shut = len(left), shut[:0]
		left = slices.DeleteFunc(left, func(u unit) bool {
			comes, isShut := f.add(u)
			if comes {
				come = append(come, u)
			}
			for _, c := range u.containers {
				if isShut {
					shut = append(shut, q.problem.Containers[c].Task)
				}
			}
			return comes
		})
	}
	return come, shut
}

// bound reports whether a hard constraint that binds who comes concerns one of the unit.
func (q *posed) bound(s *cluster.View, u unit) bool {
	return slices.ContainsFunc(u.containers, func(c int32) bool {
		return slices.ContainsFunc(s.ConstraintsOf(s.Task(q.problem.Containers[c].Task).Shape), func(id cluster.ConstraintID) bool {
			spec := s.Constraint(id)
			return spec.Hard && spec.Arriving
		})
	})
}

// add adds a bundle in which the containers of the unit come one after the other, or says whether one of them is
// shut out.
func (f *following) add(u unit) (comes, shut bool) {
	mark, bundle := f.trial.Mark(), []sched.Action(nil)
	f.trial.Gather()
	for _, c := range u.containers {
		node := f.choose(u.application, c)
		if shut = node == constraint.Nowhere; shut {
			break
		}
		task := f.problem.Containers[c].Task
		a := sched.Action{Kind: sched.Place, Task: task, Attempt: f.trial.View().Task(task).Attempt, Node: f.rows[node]}
		if f.trial.Try(a).Refused() {
			break // who has the room is still to leave
		}
		bundle = append(bundle, a)
		f.base[c] = node
	}
	f.trial.Gathered()
	f.trial.Rollback(mark)
	if len(bundle) == len(u.containers) && add(f.trial, bundle, f.out) {
		return true, false
	}
	f.takeBack(u)
	return false, shut
}

// takeBack lets the unit wait.
func (f *following) takeBack(u unit) {
	for _, c := range u.containers {
		f.base[c] = constraint.Nowhere
	}
}

// choose chooses one of the nodes that let the container of the application in now; Nowhere if none does.
func (f *following) choose(application int, c int32) int32 {
	admitted := make([]bool, len(f.rows))
	for n, row := range f.rows {
		admitted[n] = !f.trial.View().Admits(f.problem.Containers[c].Task, row).Refused()
	}
	f.out.Ticks += int64(len(f.rows))
	if !slices.Contains(admitted, true) {
		return constraint.Nowhere
	}
	question := conflict.Question{Problem: &f.problem, Base: f.base, Application: application}
	p := question.Beside()
	app := &p.Applications[application]
	p.Objective = f.problem.Objective
	app.Deployed = true // so that it comes by itself, and the others of the application go nowhere yet
	for other := app.First; other < app.End; other++ {
		if shape := p.Containers[other].Shape; p.Containers[other].At == constraint.Nowhere {
			p.Containers[other].Shape = int32(len(p.Shapes))
			p.Shapes = append(p.Shapes, p.Shapes[shape])
			p.Shapes[len(p.Shapes)-1].Eligible = make([]bool, len(f.rows))
		}
	}
	p.Shapes[p.Containers[c].Shape].Eligible = admitted
	a, ticks := f.quick(p, 0)
	f.out.Ticks += ticks
	return a[c]
}
