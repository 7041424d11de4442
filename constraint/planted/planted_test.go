package planted

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
)

// sizes are flags M1 to M7 of the targets that Medea's successors are held to.
func sizes() []Options {
	return []Options{
		{Nodes: 100, Applications: 10, Utilisation: 500, InterApp: 5},
		{Nodes: 500, Applications: 20, Utilisation: 500, InterApp: 10},
		{Nodes: 500, Applications: 40, Utilisation: 700, InterApp: 10},
		{Nodes: 5000, Applications: 10, Utilisation: 600, InterApp: 10},
		{Nodes: 5000, Applications: 40, Utilisation: 600, InterApp: 10},
		{Nodes: 5000, Applications: 40, Running: 100, Utilisation: 600, InterApp: 10},
		{Nodes: 100, Utilisation: 100, InterApp: 5},
		{Nodes: 100, Utilisation: 900, InterApp: 5},
		{Nodes: 500, Utilisation: 900, InterApp: 10},
	}
}

func (o Options) String() string {
	return fmt.Sprintf("nodes=%d/applications=%d/running=%d/utilisation=%d", o.Nodes, o.Applications, o.Running, o.Utilisation)
}

// TestSizes holds instances of the targets' sizes to what they promise: a placement without
// violation, the utilisation that was asked for, and few wishes that had to give way. They
// must be hard as well: the first node with room violates much.
func TestSizes(t *testing.T) {
	for _, o := range sizes() {
		t.Run(o.String(), func(t *testing.T) {
			for o.Seed = 1; o.Seed <= 2; o.Seed++ {
				d, err := Draw(o)
				if err != nil {
					t.Fatal(err)
				}
				if err := holds(d); err != nil {
					t.Error(err)
				}
				p := &d.Problem
				if got := taken(d); got < o.Utilisation-20 || got > o.Utilisation {
					t.Errorf("seed %d: %d thousandths are taken, want %d", o.Seed, got, o.Utilisation)
				}
				if share := 100 * d.Loosened / len(p.Constraints); share > 20 {
					t.Errorf("seed %d: %d of 100 wishes gave way", o.Seed, share)
				}
				naive := constraint.Evaluate(p, firstFit(p))
				t.Logf("seed %d: %d applications, %d containers, %d constraints, %d loosened; first fit violates %d of %d",
					o.Seed, len(p.Applications), len(p.Containers), len(p.Constraints), d.Loosened, naive.Violated, naive.Constrained)
				if placed := naive.Constrained - running(p); 10*naive.Violated < 3*placed {
					t.Errorf("seed %d: the first node with room violates %d of %d", o.Seed, naive.Violated, placed)
				}
			}
		})
	}
}

// taken is what part of the cluster's cpu the witness takes with all else, in thousandths.
func taken(d *Instance) int64 {
	capacity, left := int64(0), int64(0)
	for i := range d.Problem.Nodes {
		capacity += d.Problem.Nodes[i].Capacity[0]
		left += d.Problem.Nodes[i].Free[0]
	}
	for _, c := range d.Problem.Containers {
		if c.At == constraint.Nowhere {
			left -= d.Problem.Shapes[c.Shape].Demand[0]
		}
	}
	return 1000 - 1000*left/capacity
}

func running(p *constraint.Problem) int {
	n := 0
	for _, c := range p.Containers {
		if c.At != constraint.Nowhere {
			n++
		}
	}
	return n
}

// firstFit puts each container on the first node with room.
func firstFit(p *constraint.Problem) constraint.Assignment {
	a := p.Start()
	free := make([]cluster.Vector, len(p.Nodes))
	for i := range p.Nodes {
		free[i] = slices.Clone(p.Nodes[i].Free)
	}
	for c := range a {
		demand := p.Shapes[p.Containers[c].Shape].Demand
		for node := 0; node < len(free) && a[c] == constraint.Nowhere; node++ {
			if demand.Fits(free[node]) {
				a[c] = int32(node)
				take(free[node], demand)
			}
		}
	}
	return a
}

// Without planting, wishes are left as they are, and some of them do not hold.
func TestFree(t *testing.T) {
	o := Options{Nodes: 500, Applications: 40, Utilisation: 700, InterApp: 10, Free: true, Seed: 1}
	d, err := Draw(o)
	if err != nil {
		t.Fatal(err)
	}
	if d.Loosened > 0 || holds(d) == nil {
		t.Errorf("%d wishes gave way, and the witness violates none", d.Loosened)
	}
}

// Every kind of application is drawn, and every kind of tie.
func TestVariety(t *testing.T) {
	d, err := Draw(Options{Nodes: 500, Applications: 40, Utilisation: 700, InterApp: 10, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, c := range d.Problem.Constraints {
		fmt.Fprintln(&text, c.Name)
	}
	for _, want := range []string{
		"hbase-", "tensorflow-", "storm-", "memcached-", "web-",
		"/near-", "/beside-", "/off-the-nodes-of-", "/out-of-the-racks-of-", "/racks-of-4-to-11", "/one-rack-or-many",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no constraint is named %s", want)
		}
	}
}

func TestRefuse(t *testing.T) {
	for _, tc := range []struct {
		change func(*Options)
		want   string
	}{
		{func(o *Options) { o.Nodes = 0 }, "nodes: 0, want 1 to 100000"},
		{func(o *Options) { o.Running = -1 }, "running applications: -1, want 0 to 100000"},
		{func(o *Options) { o.Utilisation = 1001 }, "utilisation in thousandths: 1001, want 1 to 1000"},
		{func(o *Options) { o.Utilisation = 50 }, "10 applications take more than 50 thousandths of 100 nodes"},
		{func(o *Options) { o.Applications, o.Utilisation = 0, 1 }, "1 applications take more than 1 thousandths of 100 nodes"},
	} {
		o := Options{Nodes: 100, Applications: 10, Utilisation: 500, InterApp: 5}
		tc.change(&o)
		if _, err := Draw(o); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %s", o, err, tc.want)
		}
	}
}

// holds says what is wrong with the witness of an instance.
func holds(d *Instance) error {
	for i := range d.Problem.Constraints {
		if err := cluster.CheckConstraint(&d.Problem.Constraints[i]); err != nil {
			return err
		}
	}
	if err := constraint.Check(&d.Problem, d.Witness); err != nil {
		return err
	}
	report := constraint.Evaluate(&d.Problem, d.Witness)
	if report.Parts.Unplaced > 0 || report.Parts.Moved > 0 {
		return fmt.Errorf("%d applications are not planted, and %d containers that run have moved", report.Parts.Unplaced, report.Parts.Moved)
	}
	for _, v := range report.Violations {
		b := constraint.FindRoles(&d.Problem).Bounds[v.Bound]
		return fmt.Errorf("%s: container %d counts %d", d.Problem.Constraints[b.Constraint].Name, v.Container, v.Count)
	}
	return nil
}

func TestWitness(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{
			Nodes:        rapid.IntRange(1, 120).Draw(t, "nodes"),
			Applications: rapid.IntRange(0, 12).Draw(t, "applications"),
			Running:      rapid.IntRange(0, 6).Draw(t, "running"),
			Utilisation:  rapid.Int64Range(1, 1000).Draw(t, "utilisation"),
			InterApp:     rapid.IntRange(0, 12).Draw(t, "inter"),
			Movable:      rapid.Bool().Draw(t, "movable"),
			Seed:         rapid.Uint64().Draw(t, "seed"),
		}
		d, err := Draw(o)
		if err != nil {
			t.Skip(err)
		}
		again, _ := Draw(o)
		if !reflect.DeepEqual(d, again) {
			t.Fatal("the same options gave two instances")
		}
		if err := holds(d); err != nil {
			t.Fatal(err)
		}
	})
}
