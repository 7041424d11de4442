package queue

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/fragmentation"
	"fairlead.dev/fairlead/sched"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/openb"
)

// TestBestFitDecisions replays what the simulator of FGD's authors decided with
// its BestFit on the first 953 pods of openb (specs/traces.md §3.1, GT-2). Each
// node that it chose must be among the best of ours, and be the first of them
// that their order of nodes names; our policy must decide the same. The
// fragmentation that they logged after each pod must be what Mix measures.
func TestBestFitDecisions(t *testing.T) {
	data := os.Getenv("FAIRLEAD_DATA")
	if data == "" {
		t.Skip("FAIRLEAD_DATA is not set: the folder with the real traces")
	}
	log := readLog(t, data)
	nodes, pods, kinds := readOpenb(t, data, log.rank)
	known := &gpus{}
	core, s := openbCore(t, kinds, nodes)
	known.learn(s, &sched.Changed{All: true}, nil)
	mix := fragmentation.NewMix(kinds, trace.TypicalOf(kinds, slices.Values(pods), 95))
	unique, wrong := 0, 0
	for i, want := range log.nodes {
		shape, id := cluster.Shape{Demand: pods[i].Demand}, cluster.ShapeID(i)
		step(t, core, i, cluster.ShapeDefined{Shape: id, Spec: shape}, cluster.JobSubmitted{Job: cluster.JobID(i)})
		best := argmax(s, id, func(n cluster.NodeID) int64 { return known.bestFit(s, &shape, n) })
		if len(best) == 1 {
			unique++
		}
		if got := s.NodeSpec(best[0]).Name; got != want {
			t.Errorf("pod %d: the first of %d best nodes is %s, logged %s", i, len(best), got, want)
			wrong++
		}
		decided := step(t, core, i, cluster.TaskSubmitted{Task: cluster.TaskID(i), Seq: cluster.Seq(i + 1), Job: cluster.JobID(i), Shape: id})
		if len(decided) != 1 || decided[0].Node != best[0] {
			t.Fatalf("pod %d: gpu-bestfit decides %v, and the first best node is %d", i, decided, best[0])
		}
		if i < len(log.waste) {
			if got := wasted(s, mix); math.Abs(100*got-log.waste[i]) > 0.0051 {
				t.Fatalf("pod %d: %.4f %% of what is free is a fragment, logged %.2f %%", i, 100*got, log.waste[i])
			}
		}
	}
	if len(log.nodes) != 953 || unique != 540 || len(log.waste) < 900 {
		t.Errorf("%d decisions, %d of them with one best node, %d reports; want 953, 540 and about as many", len(log.nodes), unique, len(log.waste))
	}
	t.Logf("%d of %d decisions are the same", len(log.nodes)-wrong, len(log.nodes))
}

// logged is what their simulator logs.
type logged struct {
	nodes []string       // of each pod
	rank  map[string]int // of these nodes in the order that breaks ties
	waste []float64      // the share of what is free that is a fragment after each pod, in per cent
}

func readLog(t *testing.T, data string) logged {
	t.Helper()
	file, err := os.Open(filepath.Join(data, "fgd", "bestfit-953-decisions.log.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	placed := regexp.MustCompile(`openb-pod-(\d+)\) is scheduled to node\((\d{4})-(openb-node-\d+)\)`)
	report := regexp.MustCompile(`Frag ratio: ([0-9.]+)%.*\(origin\)`)
	l := logged{rank: map[string]int{}}
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		if m := placed.FindStringSubmatch(lines.Text()); m != nil {
			if number(t, m[1]) != float64(len(l.nodes)) {
				t.Fatalf("pod %s comes as the %d. of the log", m[1], len(l.nodes))
			}
			l.nodes = append(l.nodes, m[3])
			l.rank[m[3]] = int(number(t, m[2]))
		}
		if m := report.FindStringSubmatch(lines.Text()); m != nil {
			l.waste = append(l.waste, number(t, m[1]))
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return l
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// readOpenb reads the nodes, in the order of the ranks that are known and then
// the others, and the first thousand pods.
func readOpenb(t *testing.T, data string, rank map[string]int) (nodes []cluster.NodeSpec, pods []trace.Task, kinds []cluster.Kind) {
	t.Helper()
	src, err := openb.Open(filepath.Join(data, "alibaba-openb"), openb.Default())
	if err != nil {
		t.Fatal(err)
	}
	var r trace.Record
	for len(pods) < 1000 {
		if err := src.Next(&r); err != nil {
			t.Fatal(err)
		}
		if r.What == trace.NodeAdded {
			nodes = append(nodes, cluster.NodeSpec{Name: r.Node.Name, Capacity: slices.Clone(r.Node.Capacity), Labels: slices.Clone(r.Node.Labels)})
			continue
		}
		task := r.Task
		task.Demand = slices.Clone(task.Demand)
		pods = append(pods, task)
	}
	slices.SortStableFunc(nodes, func(a, b cluster.NodeSpec) int {
		x, known := rank[a.Name]
		y, both := rank[b.Name]
		switch {
		case known && both:
			return cmp.Compare(x, y)
		case known:
			return -1
		case both:
			return 1
		}
		return 0
	})
	return nodes, pods, src.Kinds()
}

// openbCore is a core with these nodes whose policy is gpu-bestfit, where the
// lowest row breaks ties.
func openbCore(t *testing.T, kinds []cluster.Kind, nodes []cluster.NodeSpec) (*sched.Core, *cluster.View) {
	t.Helper()
	s := cluster.NewState(kinds, []cluster.Class{{Name: "all"}})
	core, err := sched.New(s, sched.Lane{Name: "all", Policy: policyNamed(t, "gpu-bestfit")})
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range nodes {
		step(t, core, 0, cluster.NodeAdded{Node: cluster.NodeID(i), Spec: n})
	}
	return core, &s.View
}

func step(t *testing.T, core *sched.Core, second int, events ...cluster.Event) []sched.Decision {
	t.Helper()
	out, _, err := core.Step(cluster.Time(second)*cluster.Second, events, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// argmax lists the best nodes with room, by row.
func argmax(s *cluster.View, id cluster.ShapeID, score func(cluster.NodeID) int64) (best []cluster.NodeID) {
	most := int64(-1)
	for i := range s.NodeRows() {
		n := cluster.NodeID(i)
		if !s.RoomNow(id, n) {
			continue
		}
		switch v := score(n); {
		case v > most:
			best, most = append(best[:0], n), v
		case v == most:
			best = append(best, n)
		}
	}
	return best
}

// wasted measures all nodes anew.
func wasted(s *cluster.View, mix *fragmentation.Mix) float64 {
	waste, free := int64(0), int64(0)
	var left fragmentation.Left
	for i := range s.NodeRows() {
		n := cluster.NodeID(i)
		mix.Left(s, n, &left)
		for _, q := range left.Devices[0] {
			free += q
		}
		waste += mix.Waste(mix.Admits(s, n, nil), &left)[0]
	}
	return float64(waste) / float64(free*mix.Tasks())
}
