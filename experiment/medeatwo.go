package experiment

import (
	"errors"
	"fmt"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/planted"
	"fairlead.dev/fairlead/constraint/request"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/place"
	"fairlead.dev/fairlead/sim/workload"
)

// This file holds Medea's two schedulers to their promise (specs/medea.md, M8): short tasks wait
// no longer while long-running applications are planned beside them than where the same
// applications stand already. Here it is simulated, so that a plan takes as long as its ticks;
// medeatwoclock.go measures the same by the clock.

func medeaTwo() []Experiment {
	return []Experiment{{
		Name: "medea-two-schedulers", What: "how long short tasks wait while applications are planned beside them",
		Paper: medeaPaper + "two schedulers; held to a target of our own", Policies: []string{"kube", "sparrow"}, Free: true, setUp: setUpTwo,
	}}
}

// beside is a cluster on which applications come in lots, and short tasks all the time.
type beside struct {
	problem  *planted.Instance
	together int // applications in a lot
	lots     int
	every    cluster.Time
	planner  string // the policy of the applications
	rate     float64
	seed     uint64
}

// drawBeside draws the cluster: at full size that of M5, 40 applications at a time on 5,000
// nodes.
func drawBeside(o *Options, seed uint64) (*beside, error) {
	b := &beside{
		together: of(o.Size, 40, 8, 2), lots: of(o.Size, 12, 5, 2), every: 10 * cluster.Second,
		planner: of(o.Size, withSearch, withSearch, "serial"), rate: of(o.Size, 20.0, 60.0, 400.0), seed: seed,
	}
	var err error
	b.problem, err = planted.Draw(planted.Options{
		Nodes: of(o.Size, 5000, 1000, 100), Applications: b.together * b.lots, Utilisation: 600, InterApp: of(o.Size, 10, 10, 2), Seed: seed,
	})
	return b, err
}

// length is how long applications come, and one interval more.
func (b *beside) length() cluster.Time { return cluster.Time(b.lots+1) * b.every }

// open is the cluster with its applications, which stand where they are placed already or
// come, and the short tasks: what the generator like Google's lets arrive, its largest node
// as large as ours.
func (b *beside) open(placed constraint.Assignment) (trace.Source, error) {
	o := place.Options{Together: b.together, Every: b.every, Priority: place.DefaultPriority, Placed: placed}
	g := workload.Default()
	g.Nodes, g.TasksPerNode, g.Rate, g.Constrained, g.Seed, g.Length = len(b.problem.Problem.Nodes), 0, b.rate, 0, b.seed, b.length()
	short, err := workload.New(g)
	if err != nil {
		return nil, err
	}
	largest := make(cluster.Vector, len(b.problem.Problem.Kinds))
	for i := range b.problem.Problem.Nodes {
		for k, q := range b.problem.Problem.Nodes[i].Capacity {
			largest[k] = max(largest[k], q)
		}
	}
	if short, err = trace.Scale(short, b.problem.Problem.Kinds, largest); err != nil {
		return nil, err
	}
	return trace.Beside(place.New(request.New(b.problem.Problem, b.problem.Parts), o), short)
}

// bothLanes is what came of a run of both lanes.
type bothLanes struct {
	policy  string // of the short tasks
	took    report.Histogram
	planner counting
	stand   constraint.Assignment // where the applications stand at the end
	waiting int                   // containers that stand nowhere
}

// counting is a policy of applications of which is counted what it plans, and what commit
// refuses of that.
type counting struct {
	sched.Policy
	rounds, planned, refused, replanned int
}

// Plan counts the rounds and bundles.
func (c *counting) Plan(t *sched.Trial, changed *sched.Changed, budget int64, out *sched.Plan) {
	c.Policy.Plan(t, changed, budget, out)
	if out.Bundles() > 0 {
		c.rounds++
		c.planned += out.Bundles()
	}
}

// Replan counts what commit has refused, and what of that is planned at commit.
func (c *counting) Replan(t *sched.Trial, refused []sched.Action, out *sched.Plan) {
	c.refused++
	if replanner, is := c.Policy.(sched.Replanner); is {
		replanner.Replan(t, refused, out)
	}
	if out.Bundles() > 0 {
		c.replanned++
	}
}

// simulate runs both lanes, with applications that are placed already or to be planned.
func (r *bothLanes) simulate(b *beside, placed constraint.Assignment, o *Options) error {
	source, err := b.open(placed)
	if err != nil {
		return err
	}
	defer source.Close() //nolint:errcheck // it was only read
	lanes, err := r.lanes(b, o)
	if err != nil {
		return err
	}
	short := waits{Source: source, since: map[[2]uint64][]cluster.Time{}}
	_, err = sim.Run(sim.Config{
		Source: &short, Lanes: lanes, Until: b.length(), World: sim.World{Seed: b.seed}, Stop: o.Stop,
		Output: sim.Output{Placements: &short}, Finished: func(e sim.Ending) { r.stand = b.standing(&e) },
	})
	r.took = short.took
	for _, node := range r.stand {
		if node == constraint.Nowhere {
			r.waiting++
		}
	}
	if err == nil && r.waiting == len(r.stand) {
		err = errors.New("no application was placed; the set-up is not what it should be")
	}
	return errors.Join(err, short.err)
}

// standing is where the containers stand at the end of a run.
func (b *beside) standing(e *sim.Ending) constraint.Assignment {
	names, nodes, apps := request.New(b.problem.Problem, b.problem.Parts), map[string]int32{}, b.problem.Problem.Applications
	for i := range b.problem.Problem.Nodes {
		nodes[b.problem.Problem.Nodes[i].Name] = int32(i)
	}
	on := map[string]int32{}
	for row, name := range e.Names {
		if task := e.Core.View().Task(cluster.TaskID(row)); task.Placed() {
			on[name] = nodes[e.Core.View().NodeSpec(task.Node).Name]
		}
	}
	stand := b.problem.Problem.Start()
	for i := range apps {
		for c := apps[i].First; c < apps[i].End; c++ {
			if node, placed := on[apps[i].Name+"/"+names.Container(c)]; placed {
				stand[c] = node
			}
		}
	}
	return stand
}

// lanes are the applications' lane and that of all others.
func (r *bothLanes) lanes(b *beside, o *Options) ([]sched.Lane, error) {
	lane := func(name string) (sched.Lane, error) {
		info, err := policies.Find(name)
		if err != nil {
			return sched.Lane{}, err
		}
		policy, err := policies.New(name, policies.Options{Seed: b.seed, Stop: o.Stop})
		return sched.Lane{Name: name, Policy: policy, When: info.When}, err
	}
	long, err := lane(b.planner)
	if err != nil {
		return nil, err
	}
	r.planner.Policy = long.Policy
	long.Policy, long.When.Heartbeat, long.Owns = &r.planner, b.every, func(j *cluster.Job) bool { return j.LongRunning }
	short, err := lane(r.policy)
	return []sched.Lane{long, short}, err
}

func setUpTwo(o *Options) (*plan, error) {
	seeds := of[uint64](o.Size, 5, 1, 1)
	b, err := drawBeside(o, o.Seed) // for its numbers
	if err != nil {
		return nil, err
	}
	p := &plan{
		data: fmt.Sprintf("planted problems, %d nodes, 60 %% taken in the end: %d applications every %v, %d times; short tasks as from a generator like Google's trace of 2011, %g times as many, seeds %d to %d",
			len(b.problem.Problem.Nodes), b.together, b.every, b.lots, b.rate, o.Seed, o.Seed+seeds-1),
		facts: []string{
			fmt.Sprintf("Applications have %s in a lane of their own, short tasks the policy named. A round takes the time of its ticks; what it plans takes effect when that is over, if commit finds it still holds.", b.planner),
			"Where applications stand already, they stand from the start where the run beside it has put them by its end.",
			"Short tasks are those that come after the start with a priority below Google's production work. Their wait is that for the first place.",
		},
	}
	var pairs []*[2]bothLanes // applications planned beside, and placed already
	var measured []*[2]clocked
	length := of(o.Size, 2*cluster.Minute, 8*cluster.Second, 200*cluster.Millisecond)
	for _, policy := range o.Policies {
		for seed := o.Seed; seed < o.Seed+seeds; seed++ {
			pair := &[2]bothLanes{{policy: policy}, {policy: policy}}
			pairs = append(pairs, pair)
			clocks := &[2]clocked{{policy: policy}, {policy: policy}}
			measured = append(measured, clocks)
			p.steps = append(p.steps, step{fmt.Sprintf("%s beside, seed %d", policy, seed), func() error {
				b, err := drawBeside(o, seed)
				if err == nil {
					err = pair[0].simulate(b, nil, o)
				}
				if err == nil {
					err = pair[1].simulate(b, pair[0].stand, o)
				}
				return err
			}}, step{fmt.Sprintf("%s beside, seed %d, by the clock", policy, seed), func() error {
				b, err := drawBeside(o, seed)
				if err == nil {
					err = clocks[0].run(b, nil, length, o)
				}
				if err == nil {
					err = clocks[1].run(b, pair[0].stand, length, o)
				}
				return err
			}})
		}
	}
	p.facts = append(p.facts, clockFact(length, b.lots))
	p.conclude = func(_ []outcome, r *report.Reproduction) {
		concludeTwo(pairs, o.Policies, r)
		concludeClocks(measured, o.Policies, r)
	}
	return p, nil
}

// mostSlower is how much longer short tasks may wait: the target.
const mostSlower = 1.05

// concludeTwo holds the two runs of each policy against each other.
func concludeTwo(pairs []*[2]bothLanes, names []string, r *report.Reproduction) {
	figure := report.Figure{
		Title: "Wait of short tasks for their first place, simulated", Cumulative: true,
		X: report.Axis{Label: "wait", Unit: report.InSeconds, Log: true}, Y: report.Axis{Label: "share of short tasks", Unit: report.InShares},
	}
	for _, policy := range names {
		var waited [2]report.Histogram
		var sum counting
		containers, waiting := 0, 0
		for _, pair := range pairs {
			if pair[0].policy != policy {
				continue
			}
			for i := range pair {
				waited[i].Merge(&pair[i].took)
			}
			sum.add(&pair[0].planner)
			containers, waiting = containers+len(pair[0].stand), waiting+pair[0].waiting
		}
		for i, name := range []string{"beside", "already"} {
			figure.Lines = append(figure.Lines, report.Line{Name: policy + ", " + name, Points: waited[i].Curve()})
		}
		r.Compared = append(r.Compared, slower(policy+", simulated", &waited[0], &waited[1]))
		r.Compared = append(r.Compared, report.Compared{
			What: policy + ": applications' bundles that commit refused", Unit: report.InEvents, Ours: new(report.Number(sum.refused)),
			Note: fmt.Sprintf("of %d planned in %d rounds; %d of them planned at commit, the others again in a later round; %d containers placed, %d wait at the end", sum.planned, sum.rounds, sum.replanned, containers-waiting, waiting),
		})
	}
	r.Figures = append(r.Figures, figure)
}

// add adds what another run counted.
func (c *counting) add(o *counting) {
	c.rounds, c.planned, c.refused, c.replanned = c.rounds+o.rounds, c.planned+o.planned, c.refused+o.refused, c.replanned+o.replanned
}

// slower says by what factor the 99th percentile is higher than that of the rival.
func slower(what string, ours, rival *report.Histogram) report.Compared {
	const rank = 0.99
	a, b := ours.Quantile(rank), rival.Quantile(rank)
	factor := report.Ratio(float64(a), float64(b))
	verdict := "met"
	if float64(factor) > mostSlower {
		verdict = "not met"
	}
	return report.Compared{
		What: what + ": p99 of short tasks' wait over that with applications placed already", Unit: report.InFactors, Ours: &factor,
		Note: fmt.Sprintf("target: at most %.2f: %s; %s of %d tasks beside, %s of %d already", mostSlower, verdict, brief(a), ours.Count(), brief(b), rival.Count()),
	}
}

// brief writes a short time with its unit.
func brief(t cluster.Time) string {
	if t < 10*cluster.Millisecond {
		return fmt.Sprintf("%d µs", int64(t))
	}
	return fmt.Sprintf("%d ms", int64(t/cluster.Millisecond))
}
