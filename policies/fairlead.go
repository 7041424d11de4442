package policies

import (
	"fairlead.dev/fairlead/fairlead"
	"fairlead.dev/fairlead/sched"
)

// united is the policy that the project is named after.
func united() Info {
	return Info{
		Name: "fairlead", What: "by promise, priority and share; where least is lost of what others may ask for; evicts lower ranks",
		From: "all five papers; specification of the unified policy", Family: Queue, Evicts: true,
		Options: []Option{TieBreak()},
		Make: func(o Options) (sched.Policy, error) {
			return fairlead.New(fairlead.Options{Seed: o.Seed, Ties: o.Ties}), nil
		},
	}
}
