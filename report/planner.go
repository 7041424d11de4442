package report

import "fairlead.dev/fairlead/cluster"

// Planner says what the decisions cost.
type Planner struct {
	// Rounds is how often the planner was asked for decisions.
	Rounds int `json:"rounds"`
	// Decisions is how many it made, of every kind: place, evict, resize, end.
	Decisions int `json:"decisions"`
	// Seconds is the planner time charged in the simulation, during which the
	// simulated world went on.
	Seconds Number `json:"seconds"`
	// Wall is the time that the planner took on this machine, in seconds; 0 if
	// it was not measured, as in runs that must be the same byte for byte.
	Wall Number `json:"wall_s,omitempty"`
	// DecisionsPerSecond is Decisions over Wall if that is known and else over
	// Seconds; 0 if neither is.
	DecisionsPerSecond Number `json:"decisions_per_s"`
	// Gap says how much better the plans might have been, of policies that know.
	Gap *Gaps `json:"gap,omitempty"`
}

// Gaps sum up over rounds what a plan costs beyond a lower bound of what any plan of
// the round costs, as a share of the larger of the two. Both are by the prices of the
// policy, for the tasks that could have had a place when the round began.
type Gaps struct {
	// Rounds counts those with a bound.
	Rounds int `json:"rounds"`
	// Optimal is the share of them whose plan is proven to be the best there is.
	Optimal Number `json:"optimal"`
	Mean    Number `json:"mean"`
	P50     Number `json:"p50"`
	P99     Number `json:"p99"`
}

// NewPlanner fills in a Planner, with its rate. The charged time is simulated;
// wall is in seconds, 0 if it was not measured.
func NewPlanner(rounds, decisions int, charged cluster.Time, wall float64) Planner {
	p := Planner{Rounds: rounds, Decisions: decisions, Seconds: Seconds(charged), Wall: Number(wall)}
	took := wall
	if took == 0 {
		took = charged.Seconds()
	}
	p.DecisionsPerSecond = Ratio(float64(decisions), took)
	return p
}

// TakeWall takes the time off that was measured on this machine, and returns it: what is left is the same of each run of
// the same thing.
func (p *Planner) TakeWall() Number {
	wall := p.Wall
	p.Wall = 0
	p.DecisionsPerSecond = Ratio(float64(p.Decisions), float64(p.Seconds))
	return wall
}
