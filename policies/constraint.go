package policies

import (
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/exact"
	"fairlead.dev/fairlead/constraint/greedy"
	"fairlead.dev/fairlead/constraint/lane"
	"fairlead.dev/fairlead/constraint/search"
	"fairlead.dev/fairlead/ilp"
	"fairlead.dev/fairlead/sched"
)

// This file lists the policies of the family constraint: they place applications whole, under
// constraints over tags and groups of nodes.

// interval is how long they gather applications (Medea's default; specification A1).
const interval = 10 * cluster.Second

// constraints are the policies that place applications whole.
func constraints() []Info {
	return []Info{
		searching(),
		heuristic("serial", "applications whole, one container at a time, where it violates least", "Medea, EuroSys 2018: Serial"),
		heuristic("tag-popularity", "applications whole; containers with the most popular tags first", "Medea, EuroSys 2018: tag popularity"),
		heuristic("node-candidates", "applications whole; containers with the fewest admissible nodes first", "Medea, EuroSys 2018: node candidates"),
		heuristic("j-kube", "applications whole; affinity as Kubernetes scores it, cardinality not honoured", "Medea, EuroSys 2018: J-Kube"),
		heuristic("j-kube++", "applications whole; affinity and cardinality as Kubernetes would score them", "Medea, EuroSys 2018: J-Kube++"),
		heuristic("yarn", "applications whole; constraints not honoured", "Medea, EuroSys 2018: YARN"),
	}
}

// heuristic is a policy that solves by a heuristic of that name.
func heuristic(name, what, from string) Info {
	return Info{
		Name: name, What: what, From: from, Family: Constraint, When: sched.Trigger{Heartbeat: interval},
		Make: func(Options) (sched.Policy, error) {
			h, _ := greedy.Named(name)
			solve := func(p *constraint.Problem, _ int64) (constraint.Assignment, int64) { return h.Solve(p) }
			return lane.New(lane.Options{Solve: solve, Quick: solve, Objective: constraint.Standard()}), nil
		},
	}
}

// searching is the policy that solves by large-neighbourhood search, and mends what that leaves by integer
// programs.
func searching() Info {
	return Info{
		Name: "medea", What: "applications whole, all that wait at once; by search for the fewest violations, mended by integer programs", From: "Medea, EuroSys 2018, by search before its ILP",
		Family: Constraint, Programs: true, When: sched.Trigger{Heartbeat: interval},
		Make: func(o Options) (sched.Policy, error) {
			by := bySearch(o.Seed)
			by.Repair = repairing(o.Programs)
			return lane.New(by), nil
		},
	}
}

// bySearch is a lane that searches.
func bySearch(seed uint64) lane.Options {
	return lane.Options{
		Solve: func(p *constraint.Problem, budget int64) (constraint.Assignment, int64) {
			r := search.Solve(p, search.Options{Seed: seed, Ticks: budget})
			return r.Assignment, r.Ticks
		},
		Quick: func(p *constraint.Problem, _ int64) (constraint.Assignment, int64) { return greedy.Serial().Solve(p) },
		Ticks: searchTicks, Objective: constraint.Standard(),
	}
}

// repairing mends by the solver; nil if there is none. A plan that costs no more than what is
// plain to see costs no solving (exact.Repair), and one that the solver failed on stays as it is.
func repairing(solver ilp.Solver) func(*constraint.Problem, constraint.Assignment, int64) lane.Repaired {
	if solver == nil {
		return nil
	}
	return func(p *constraint.Problem, found constraint.Assignment, budget int64) lane.Repaired {
		o := exact.Defaults()
		o.Ticks = max(budget/solverTick, 1)
		r, _ := exact.Repair(p, found, solver, o) // who gave the solver knows what went wrong with it
		return lane.Repaired{Assignment: r.Assignment, Ticks: r.Ticks * solverTick, Score: r.Score, Bound: r.Bound, Better: r.Better > 0}
	}
}

// solverTick is how many ticks of the search a tick of the solver takes, in time: some 100
// microseconds, where a look at a node takes 50 nanoseconds.
const solverTick = 2000

// searchTicks is the effort of a round of medea: about a second.
const searchTicks = 20_000_000
