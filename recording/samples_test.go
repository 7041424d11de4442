package recording

import "fairlead.dev/fairlead/cluster"

// Samples holds each event, with every field filled in, and some as empty as
// they can be.
func Samples() []cluster.Event {
	spec := cluster.NodeSpec{
		Name: "n1 \"é\" <&>\n\\", Capacity: cluster.Vector{1, cluster.MaxQuantity}, Overcommit: cluster.Vector{1500, 1000},
		Labels: []cluster.Label{{Key: "zone", Value: "a"}, {Key: "empty"}}, Groups: []cluster.Label{{Key: "rack", Value: "r1"}}, Tier: -3,
	}
	return []cluster.Event{
		cluster.NodeAdded{Node: 7, Spec: spec},
		cluster.NodeAdded{},
		cluster.NodeChanged{Node: 7, Spec: spec},
		cluster.NodeLost{Node: 1<<32 - 1},
		cluster.UsageReported{Node: 7, Usage: cluster.Vector{0, cluster.MaxQuantity}},
		cluster.UsageReported{},
		cluster.SetDefined{Set: 2, Nodes: []cluster.NodeID{1, 0, 9}},
		cluster.SetDefined{Set: 2},
		cluster.SetForgotten{Set: 2},
		cluster.EligibilityChanged{Set: 2, Node: 7, Eligible: true},
		cluster.EligibilityChanged{Set: 2},
		cluster.ShapeDefined{Shape: 3, Spec: cluster.Shape{Demand: cluster.Vector{0, 5}, Eligible: 2, Usual: 1, PerNode: 1, NeverPreempts: true, Prefers: []cluster.Preference{{Set: 2, Weight: 50}, {Set: 0, Weight: -100}}}},
		cluster.ShapeDefined{Shape: 3, Spec: cluster.Shape{Demand: cluster.Vector{0, 5}, Max: cluster.Vector{0, 9}}},
		cluster.ShapeDefined{Shape: 3, Spec: cluster.Shape{Demand: cluster.Vector{5}, Tags: []string{"a<b", "web"}}},
		cluster.ShapeForgotten{Shape: 3},
		cluster.RoomComing{Shape: 3, Coming: true},
		cluster.RoomComing{},
		cluster.ConstraintDefined{Constraint: 6, Spec: cluster.Constraint{
			Name: "c \"é\"", Owner: "web", Weight: 1500, Any: [][]cluster.Bound{
				{{Subject: []string{"a", "web"}, Target: []string{"b"}, Min: 1, Max: cluster.Unbounded, Group: "rack"}, {Target: []string{"b"}, Group: cluster.EachNode}},
				{{Subject: []string{"a"}, Target: []string{"a"}, Min: 3, Max: 10, Group: "zone", SelfCounted: true}},
			},
		}},
		cluster.ConstraintDefined{Spec: cluster.Constraint{Hard: true}},
		cluster.ConstraintDefined{Spec: cluster.Constraint{Hard: true, Arriving: true, Lenient: true, Any: [][]cluster.Bound{{
			{Subject: []string{"a"}, Target: []string{"a"}, Min: 1, Max: cluster.Unbounded, Group: "zone", OrFirst: true},
			{Subject: []string{"a"}, Target: []string{"a"}, Max: 2, Group: "zone", SelfCounted: true, OverFewest: true, LeastSets: 3},
		}}}},
		cluster.ConstraintForgotten{Constraint: 6},
		cluster.SolverReady{},
		cluster.ClassDefined{Class: 254, Spec: cluster.Class{
			Name: "gold \"é\" <&>\xff", Importance: -1, Availability: cluster.Whole, Margin: 1, Restart: 2, Budget: 3, KeepsWork: true,
			Urgency: cluster.Premium, Tier: cluster.Advanced, Size: cluster.BestEffort, Redundancy: cluster.Premium, Replicas: 3,
		}},
		cluster.ClassDefined{},
		cluster.ClassForgotten{Class: 254},
		cluster.JobSubmitted{Job: 4, Name: "web", User: "ann", Foreign: true, Yields: 255, Together: true},
		cluster.JobSubmitted{Job: 4, Name: "copies", FirstEnds: true, Disruption: cluster.DisruptNever},
		cluster.JobSubmitted{Job: 4, Name: "service", LongRunning: true, Loose: true, Service: true},
		cluster.JobSubmitted{},
		cluster.JobChanged{Job: 4, Disruption: cluster.DisruptTogether, Gang: 3},
		cluster.JobForgotten{Job: 4},
		cluster.TaskSubmitted{Task: 5, Seq: 1<<64 - 1, Job: 4, Shape: 3, Class: 255, Priority: -1 << 31, Gated: true, Input: []cluster.Block{
			{Bytes: 64 << 20, Replicas: [3]cluster.NodeID{7, 0, 1<<28 - 1}},
			{Bytes: -1, Replicas: [3]cluster.NodeID{cluster.NoNode, 4, cluster.NoNode}},
			{Replicas: [3]cluster.NodeID{cluster.NoNode, cluster.NoNode, cluster.NoNode}},
		}},
		cluster.TaskSubmitted{},
		cluster.TaskSubmitted{Lasts: 90},
		cluster.TaskSubmitted{Lasts: cluster.Never},
		cluster.TaskSubmitted{Lasts: -1},
		cluster.TaskSubmitted{Displaced: true},
		cluster.TaskSubmitted{Account: &cluster.Account{Submitted: -5, FirstRun: cluster.Never, Waiting: 7, Overhead: 1}},
		cluster.TaskSubmitted{Account: &cluster.Account{Submitted: 1, FirstRun: 2, Waiting: 3, Overhead: 5, Restarting: 4, Running: 6}},
		cluster.TaskUngated{Task: 5, Seq: 6},
		cluster.TaskGated{Task: 5, Seq: 6},
		cluster.TaskReshaped{Task: 5, Seq: 6, Shape: 3, Priority: 1<<31 - 1},
		cluster.TaskFound{Task: 5, Seq: 6, Node: 7, Devices: 5, Grant: cluster.Vector{0, 7}},
		cluster.TaskFound{Task: 4_000_000_000, Grant: cluster.Vector{}},
		cluster.NodeChanged{Node: 7, Spec: cluster.NodeSpec{Name: "\xff", Capacity: cluster.Vector{}, Overcommit: cluster.Vector{}, Labels: []cluster.Label{{Key: "\x80a\xc3", Value: "\xed\xb2\x80"}}}},
		cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{}, Max: cluster.Vector{}, Tags: []string{"\xfe", "😀\xff\ufffd"}}},
		cluster.TaskStarted{Task: 5, Attempt: 8, Node: 7},
		cluster.TaskStarted{Task: 5, Attempt: 8, Node: 7, Grant: cluster.Vector{}},
		cluster.TaskStarted{Task: 5, Attempt: 8, Node: 7, Grant: cluster.Vector{0, 7}},
		cluster.BindRefused{Task: 5, Attempt: 8},
		cluster.TaskLeft{Task: 5, Attempt: 8},
		cluster.EvictRefused{Task: 5, Attempt: 8},
		cluster.TaskProtected{Task: 5, Attempt: 8, Until: 70, Reason: "a budget"},
		cluster.BudgetChanged{Budget: 3, Spare: cluster.SparesAll},
		cluster.BudgetChanged{Budget: 2},
		cluster.TaskGuarded{Task: 5, Attempt: 8, Budgets: []cluster.BudgetID{2, 3}},
		cluster.TaskGuarded{Task: 5, Attempt: 8},
		cluster.TaskLeaving{Task: 5, Attempt: 8},
		cluster.TaskEnded{Task: 5, Seq: 6},
		cluster.TaskEnded{Task: 5, Seq: 6, Finished: true},
	}
}
