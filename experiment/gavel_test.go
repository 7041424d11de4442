package experiment

import (
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/gpujobs"
)

// TestGavelAware: with a made-up table, on a small cluster with work for almost all of it, jobs are done sooner where policies know how fast they are on
// each kind of GPU, whichever policy it is; and sooner yet where runs move when something faster becomes free.
func TestGavelAware(t *testing.T) {
	s := &gavelRuns{table: madeUpTable(), seeds: 2, shrink: 6, hours: map[gavelRun]float64{}}
	single := &gavelTrace{name: "single"}
	gains := map[string][]float64{}
	for _, rate := range []float64{1.2, 4.4} {
		hours := map[string]float64{}
		for _, v := range gavelVariants() {
			for seed := uint64(1); seed <= s.seeds; seed++ {
				if err := s.run(single, rate, v, seed); err != nil {
					t.Fatal(err)
				}
			}
			hours[v.line] = s.mean(single, rate, v)
			t.Logf("%.1f jobs an hour, %s: %.2f h", rate, v.line, hours[v.line])
		}
		for _, v := range gavelVariants() {
			if v.prefers {
				gains[v.line] = append(gains[v.line], hours["first-fit, agnostic"]/hours[v.line])
			}
		}
	}
	for line, gain := range gains {
		if !(gain[0] > 1.05) || !(gain[1] > 1.05) {
			t.Errorf("%s: agnostic over aware is %.2f where there is room, and %.2f where there is little", line, gain[0], gain[1])
		}
	}
	if stay, move := gains["fairlead without moves, aware"], gains["fairlead, aware"]; len(gains) != 3 || !(move[1] > stay[1]) {
		t.Errorf("of %d variants, that which moves runs gains %v, without moves %v", len(gains), move, stay)
	}
}

// TestGavelDraw: jobs come as often, take as long on V100s, and have as many GPUs, as they are drawn by Gavel.
func TestGavelDraw(t *testing.T) {
	s := &gavelRuns{table: madeUpTable(), shrink: 1}
	l := s.draw(&gavelTrace{several: true}, 2, true, 5)
	kinds := 0
	scales, long, last := map[int64]float64{}, 0.0, cluster.Time(0)
	for _, r := range l.records {
		if r.What == trace.NodeAdded {
			kinds++
			continue
		}
		gpus := r.Task.Demand[0] / gpujobs.Device
		scales[gpus] += 1. / gavelJobs
		if r.Task.Work > 1000*cluster.Minute {
			long += 1. / gavelJobs
		}
		if r.Task.Work < 31*cluster.Minute || r.Task.Work > 10_000*cluster.Minute || len(r.Task.Speeds) != 3 || r.Task.Speeds[0].Rate != trace.SpeedUnit || len(r.Task.Prefers) != 4 {
			t.Fatalf("job %+v", r.Task)
		}
		last = r.Time
	}
	near := func(what string, got, want float64) {
		if got < 0.9*want || got > 1.1*want {
			t.Errorf("%s: %.4f, want about %.4f", what, got, want)
		}
	}
	if kinds != 3 || len(l.records) != gavelJobs+3 {
		t.Errorf("%d nodes, %d records", kinds, len(l.records))
	}
	near("hours until the last comes", last.Seconds()/3600, gavelJobs/2.)
	near("share of long jobs", long, 0.2)
	for gpus, share := range map[int64]float64{1: 0.7, 2: 0.1, 4: 0.15, 8: 0.05} {
		near("share of jobs by GPUs", scales[gpus], share)
	}
}
