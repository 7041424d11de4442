package cluster

import (
	"strings"
	"testing"
)

// This file shows that histories can fail: each fault that is planted in the state is
// found by the check that it is meant for.

// TestHistoriesCanFail plants a fault in the state after each step, and wants
// the checks to find it.
func TestHistoriesCanFail(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		plant      func(*State)
	}{
		{"used", "its tasks sum to", func(s *State) { s.used[0]++ }},
		{"leaving", "its tasks sum to", func(s *State) { s.leaving[1]++ }},
		{"device", "devices are", func(s *State) { s.node[0].device[0].Used++ }},
		{"device's limit", "devices are", func(s *State) { s.node[0].device[0].Limit++ }},
		{"device held", "devices are", func(s *State) {
			for i := range s.task {
				if t := &s.task[i]; t.Placed() && t.Devices.Count() == 1 {
					t.Devices = 6 &^ t.Devices
				}
			}
		}},
		{"totals", "totals are", func(s *State) { s.total.Used[0]++ }},
		{"free total", "totals are", func(s *State) { s.total.Free[0]++ }},
		{"leaving total", "totals are", func(s *State) { s.total.Leaving[0]-- }},
		{"nodes", "totals are", func(s *State) { s.total.Nodes-- }},
		{"reserved", "reserved is", func(s *State) { s.node[0].reserved++ }},
		{"list", "tasks, counted", func(s *State) {
			if len(s.task) > 0 {
				s.node[0].tasks = append(s.node[0].tasks, 0)
			}
		}},
		{"phase count", "waiting, counted", func(s *State) { s.numbers.phase[Waiting]++ }},
		{"range count", "shapes have a range", func(s *State) { s.numbers.ranges++ }},
		{"shape count after a change", "shape row", func(s *State) {
			for i := range s.task {
				if t := &s.task[i]; t.Phase == Waiting && t.Shape == 1 {
					t.Shape = 2
				}
			}
		}},
		{"unlogged set", "mirror is", func(s *State) {
			if len(s.set) > 1 && len(s.set[1].nodes) > 0 {
				s.set[1].nodes[0] ^= 2
			}
		}},
		{"constraint's count", "its tasks sum to", func(s *State) {
			if t := s.constraints; len(t.row) > 0 && len(t.row[0].bound) > 0 && len(t.row[0].bound[0].sets.kept) > 1 {
				t.row[0].bound[0].sets.of(1)[settled].Targets++
			}
		}},
		{"constraint's violations", "violate it and miss", func(s *State) {
			if t := s.constraints; len(t.row) > 0 && len(t.row[0].bound) > 0 {
				t.row[0].bound[0].misses++
			}
		}},
		{"set of a group", "of group", func(s *State) {
			if t := s.constraints; len(t.group) > 0 && len(t.group[0].of) > 2 {
				t.group[0].of[2] = 3
			}
		}},
		{"stance", "stance is", func(s *State) {
			if t := s.constraints; len(t.stances) > 0 && t.stances[0].counted {
				t.stances[0].node++
			}
		}},
		{"roles", "roles are", func(s *State) {
			if len(s.shape) > 2 && len(s.shape[2].roles) > 0 {
				s.shape[2].roles = nil
			}
		}},
		{"grant out of range", "granted", func(s *State) {
			for i := range s.task {
				if g := s.task[i].Grant(); g != nil && s.task[i].Phase != Leaving {
					s.take(s.task[i].Node, room{demand: Vector{9, 0, 0}}, 1)
					s.task[i].give(append(Vector{g[0] + 9}, g[1:]...), nil)
				}
			}
		}},
		{"grant in nobody's books", "its tasks sum to", func(s *State) {
			for i := range s.task {
				if t := &s.task[i]; t.Grant() != nil {
					t.give(nil, t.nextGrant())
				}
			}
		}},
		{"unlogged grant", "mirror", func(s *State) {
			for i := range s.task {
				if t := &s.task[i]; t.Grant() != nil && t.Account.Since+50 < s.now {
					s.take(t.Node, s.roomOf(TaskID(i)), -1)
					if t.Phase == Leaving {
						s.leave(t.Node, s.roomOf(TaskID(i)), -1)
					}
					t.give(nil, t.nextGrant())
					s.take(t.Node, s.roomOf(TaskID(i)), 1)
					if t.Phase == Leaving {
						s.leave(t.Node, s.roomOf(TaskID(i)), 1)
					}
				}
			}
		}},
		{"ending and at work", "ending, and", func(s *State) {
			for i := range s.task {
				if t := &s.task[i]; t.Phase == Running {
					t.Told = ToEnd
				}
			}
		}},
		{"job count", "job row 0", func(s *State) { s.job[0].Tasks++ }},
		{"limit of a shape", "of a job a node", func(s *State) { s.shape[0].PerNode = -1 }},
		{"shape count", "shape row 0", func(s *State) { s.shape[0].tasks++ }},
		{"unlogged job", "mirror is", func(s *State) { s.job[0].Name += "x" }},
		{"unlogged capacity", "mirror", func(s *State) { s.capacity[0]++; s.total.Capacity[0]++ }},
		{"usage of a lost node", "usage is", func(s *State) {
			for i, live := range s.live {
				if !live {
					s.setUsage(NodeID(i), make(Vector, len(s.kinds)))
				}
			}
		}},
		{"unlogged usage", "mirror is", func(s *State) {
			for i := range s.usage {
				if len(s.usage[i]) > 0 {
					s.usage[i][0]++
				}
			}
		}},
		{"input of an ended task", "and has an input", func(s *State) {
			for i := range s.task {
				if s.task[i].Phase == Absent {
					s.setBrought(TaskID(i), brought{input: []Block{{Replicas: [3]NodeID{NoNode, NoNode, NoNode}}}})
				}
			}
		}},
		{"unlogged input", "mirror is", func(s *State) {
			for i := range s.brought {
				if in := s.brought[i].input; len(in) > 0 {
					s.brought[i].input = []Block{{Bytes: in[0].Bytes + 1, Replicas: [3]NodeID{NoNode, NoNode, NoNode}}}
				}
			}
		}},
		{"unlogged length", "mirror is", func(s *State) {
			for i := range s.brought {
				if s.brought[i].lasts > 0 {
					s.brought[i].lasts++
				}
			}
		}},
		{"length of an ended task", "and lasts", func(s *State) {
			for i := range s.task {
				if s.task[i].Phase == Absent {
					s.setBrought(TaskID(i), brought{lasts: 1})
				}
			}
		}},
		{"wild input", "names node row 2 twice", func(s *State) {
			for i := range s.brought {
				if len(s.brought[i].input) > 0 {
					s.brought[i].input = []Block{{Replicas: [3]NodeID{2, NoNode, 2}}}
				}
			}
		}},
		{"runs of a budget that leave", "runs leave of", func(s *State) {
			if len(s.guards.row) > 1 {
				s.guards.row[1].leaving++
			}
		}},
		{"run of a budget", "budgets guard", func(s *State) { clear(s.guards.stances) }},
		{"what a budget has left", "nobody was told", func(s *State) {
			for i, touch := range s.log.touches {
				if i > 0 && touch.Table == Nodes && s.log.touches[i-1].Table == Guarding {
					s.log.touches[i] = s.log.touches[i-1]
				}
			}
		}},
		{"account", "accounts for", func(s *State) {
			for i := range s.task {
				s.task[i].Account.Running++
			}
		}},
		{"first run", "accounts for", func(s *State) {
			for i := range s.task {
				s.task[i].Account.FirstRun = 0
			}
		}},
		{"room", "holds", func(s *State) {
			for i := range s.node {
				s.total.add(&s.View, NodeID(i), -1)
			}
			for i, used := range s.used {
				if used > 0 {
					s.limit[i] = used - 1
				}
			}
			for i := range s.node {
				s.fillDevices(NodeID(i))
				s.total.add(&s.View, NodeID(i), 1)
			}
		}},
		{"promise", "promised", func(s *State) { // a victim that stays, unasked
			for i := range s.task {
				if t := &s.task[i]; t.Phase == Leaving && t.Told != ToEnd {
					s.leave(t.Node, s.roomOf(TaskID(i)), -1)
					if t.Next != NoNode {
						s.dropNext(TaskID(i))
					}
					s.setPhase(TaskID(i), Starting)
					s.noteTask(TaskID(i))
					s.noteNode(t.Node)
				}
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for seed := range uint64(80) {
				data := historyBytes(seed, 4000)
				data[0] = 3
				if _, err := playHistory(data, tc.plant); err != nil {
					if !strings.Contains(err.Error(), tc.want) {
						t.Errorf("found %q, which says nothing of %q", err, tc.want)
					}
					return
				}
			}
			t.Error("planted a fault in 80 histories, and no check found it")
		})
	}
}
