package cluster

import "testing"

// keepsPromises is the slow rival of MayStay: the runs stay in a copy of the state, and
// everybody who was promised room on their nodes is looked at again.
func keepsPromises(s *State, runs []TaskID) bool {
	c := NewState(s.Kinds(), s.Classes())
	c.CopyAll(&s.View)
	for _, t := range runs {
		if err := c.Apply(s.Now(), EvictRefused{Task: t, Attempt: s.task[t].Attempt}); err != nil {
			return false
		}
	}
	for _, t := range runs {
		for _, other := range c.node[s.task[t].Node].tasks {
			if promised(&c.task[other], s.task[t].Node) && (!c.reservationFeasible(other, s.task[t].Node) || !c.mayStand(other)) {
				return false
			}
		}
	}
	return true
}

// mayStand reports whether no more of those stay whom a task for which a place is kept must not meet than may.
func (s *State) mayStand(t TaskID) bool {
	task := &s.task[t]
	for c := range ConstraintID(s.ConstraintRows()) {
		spec := s.Constraint(c)
		if spec == nil || !spec.Hard || !spec.Arriving || task.Phase != Reserved {
			continue
		}
		for i, b := range spec.Any[0] {
			subject, target := b.Affects(s.shape[task.Shape].Tags)
			row := &s.constraints.row[c].bound[i]
			set := s.constraints.group[row.group].setOf(task.Node)
			if !subject || b.OverFewest && set == outside {
				continue
			}
			stay := row.counted(set, settled).Targets
			if target && !b.SelfCounted {
				stay--
			}
			if int64(stay) > row.limit() {
				return false
			}
		}
	}
	return true
}

func promised(t *Task, n NodeID) bool { return t.Next == n || t.Node == n && t.Phase == Reserved }

// TestMayStayAgainstTheState: a run that is leaving, alone or with another one, may stay exactly
// if nobody loses by that what was promised to them.
func TestMayStayAgainstTheState(t *testing.T) {
	may, mayNot, beside := 0, 0, 0
	for seed := range uint64(400) {
		_, err := playHistory(historyBytes(seed, 400), func(s *State) {
			for n := range s.node {
				var leaving []TaskID
				feasible := true
				for _, id := range s.node[n].tasks {
					task := &s.task[id]
					if task.Node == NodeID(n) && task.Phase == Leaving && task.Told != ToEnd {
						leaving = append(leaving, id)
					}
					feasible = feasible && (!promised(task, NodeID(n)) || s.reservationFeasible(id, NodeID(n)) && s.mayStand(id))
				}
				for i := range leaving {
					got, want := MayStay(&s.View, leaving[i], leaving[:i]), keepsPromises(s, leaving[:i+1])
					switch {
					case !feasible: // somebody will lose it whoever stays
						continue
					case got != want:
						t.Fatalf("seed %d: task rows %d may stay: %v, and by the state %v\n%s", seed, leaving[:i+1], got, want, s.Picture())
					case got:
						may++
						beside += i
					default:
						mayNot++
					}
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d runs might stay, %d of them beside others, %d might not", may, beside, mayNot)
	if may < 100 || mayNot < 100 || beside < 10 {
		t.Error("too few of some kind were looked at")
	}
}

// TestMayStayOnDevices: where the sum would be enough, it is the device that decides.
func TestMayStayOnDevices(t *testing.T) {
	s := NewState([]Kind{{Name: "gpu", PerUnit: 4, Devices: true}}, nil)
	apply := func(e Event) {
		t.Helper()
		if err := s.Apply(0, e); err != nil {
			t.Fatal(err)
		}
	}
	apply(NodeAdded{Node: 0, Spec: NodeSpec{Name: "n", Capacity: Vector{8}}})
	apply(ShapeDefined{Shape: 0, Spec: Shape{Demand: Vector{4}}})
	apply(JobSubmitted{Job: 0})
	for id := range TaskID(3) {
		apply(TaskSubmitted{Task: id, Seq: Seq(id), Job: 0, Shape: 0})
	}
	for id := range TaskID(2) {
		apply(TaskFound{Task: id, Seq: Seq(id), Node: 0, Devices: 1 << id})
		apply(TaskLeaving{Task: id, Attempt: 1})
	}
	s.Begin(NoLane)
	refused := s.Place(2, 0, 1)
	s.Keep()
	if refused.Refused() || s.Task(2).Phase != Reserved {
		t.Fatalf("task row 2 is %v: %v", s.Task(2).Phase, refused)
	}
	if MayStay(&s.View, 0, nil) || !MayStay(&s.View, 1, nil) || MayStay(&s.View, 0, []TaskID{1}) {
		t.Error("the run on the device that is promised may stay, or the other may not")
	}
}
