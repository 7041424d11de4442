package experiment

import (
	"fmt"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
)

func TestTmp(t *testing.T) {
	for _, v := range []validation{firstTest(), secondTest()} {
		for _, m := range []cluster.Time{30 * cluster.Second, 10 * cluster.Second} {
			for seed := range uint64(3) {
				for _, name := range []string{"priority", "qos"} {
					var src trace.Source
					src, err := v.stored(data(t))
					if seed > 1 {
						src = v.shuffled(seed)
					}
					if err != nil {
						t.Fatal(err)
					}
					p, _ := policies.New(name, policies.Options{Seed: seed})
					run, err := sim.Run(sim.Config{Source: src, Lanes: []sched.Lane{{Name: name, Policy: p, When: sched.Trigger{Watchdog: m, Patient: true}}},
						Planner: sim.Planner{Time: sim.Zero}, World: validationWorld(seed), Classes: validationClasses(m), Until: cluster.Hour})
					if err != nil {
						t.Fatal(err)
					}
					line := fmt.Sprintf("%s m=%v seed=%d %-8s pre=%d alloc rounds=%d", v.name, m, seed, name, run.Tasks.Preempted, run.Planner.Rounds)
					for _, c := range []string{"gold", "silver", "bronze"} {
						if k, ok := run.Classes[c]; ok {
							line += fmt.Sprintf("  %s pre=%d %+v", c, k.Preempted, *k.Availability)
						}
					}
					fmt.Println(line)
				}
			}
		}
	}
}
