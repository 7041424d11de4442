package e2e

import (
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlead.dev/fairlead/kube/testbed"
	"fairlead.dev/fairlead/kube/testbed/medea"
)

// Applications of Medea's shapes come while short pods do: all are placed, hardly anything is violated that need not be, and what is said of constraints is so. `fairlead-testbed medea` measures it at full size.
func TestMedea(t *testing.T) {
	c, _ := defined(t)
	w, err := medea.Draw(medea.Options{Nodes: 30, Applications: 4, Tied: 4, Utilisation: 500, Seed: 1, Scheduler: testbed.FairleadProfile})
	c.must(err)
	run, err := medea.Prepare(t.Context(), c.bed, w)
	c.must(err)
	c.must(c.bed.StartFairlead(t.Context(), build(t), testbed.ProfileOf("fairlead"), 10_000))
	both, ctx := errgroup.WithContext(t.Context())
	var outcome medea.Outcome
	both.Go(func() (err error) {
		outcome, err = run.Submit(ctx, medea.Pace{Every: time.Second})
		return err
	})
	both.Go(func() error {
		_, err := c.bed.Measure(ctx, testbed.Load{Name: "short", Scheduler: testbed.FairleadProfile, Pods: 200, Rate: 100})
		return err
	})
	c.must(both.Wait())
	if outcome.Bound != w.Pods() || len(outcome.Placed) != w.Applications() {
		t.Errorf("%d of %d pods of %d of %d applications were placed", outcome.Bound, w.Pods(), len(outcome.Placed), w.Applications())
	}
	verdict, err := run.Judge(t.Context())
	c.must(err)
	if verdict.Hard > 0 || verdict.Contradicted > 0 || verdict.Bound == 0 {
		t.Errorf("want no hard constraint violated, and every status to say what is so: %s", &verdict)
	}
	// On a machine that does much else pods of one application may come so far apart that they are not placed together.
	if 10*verdict.Avoidable > verdict.Bound {
		t.Errorf("want fewer than a tenth violated that need not be: %s", &verdict)
	}
	t.Log(&verdict)
}
