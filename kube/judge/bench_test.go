package judge

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// filled is a judge with 5,000 nodes in ten zones and two pods a node.
func filled(b *testing.B) *Judge {
	b.Helper()
	judge := newBench(b, namespace("default", "red")).judge
	for i := range 5000 {
		judge.SetNode(makeNode(fmt.Sprintf("node-%04d", i), fmt.Sprintf("zone=%d", i%10)))
	}
	for i := range 10_000 {
		put(b, judge, makePod(fmt.Sprintf("pod-%d", i), "app=web"), fmt.Sprintf("node-%04d", i%5000))
	}
	return judge
}

func BenchmarkLastWord(b *testing.B) {
	judge := filled(b)
	for name, pod := range map[string]*v1.Pod{
		"plain": makePod("p", "app=web"), "spread": spreading(makePod("p", "app=web"), "zone", "app=web"),
	} {
		b.Run(name+"/nodes=5000", func(b *testing.B) {
			c := mustCase(b, judge, pod)
			defer c.Close()
			for b.Loop() {
				c.LastWord(pod, "node-0042")
			}
		})
	}
}

func BenchmarkLocal(b *testing.B) {
	judge := filled(b)
	pod := makePod("p", "app=web")
	b.Run("nodes=5000", func(b *testing.B) {
		for b.Loop() {
			local := judge.Local(pod)
			for _, info := range judge.view.all {
				local.Admits(info.Node().Name)
			}
		}
	})
}

func BenchmarkPreFilter(b *testing.B) {
	judge := filled(b)
	for name, pod := range map[string]*v1.Pod{
		"plain":   makePod("p", "app=web"),
		"spread":  spreading(makePod("p", "app=web"), "zone", "app=web"),
		"by-host": spreading(makePod("p", "app=web"), v1.LabelHostname, "app=web"),
	} {
		b.Run(name+"/nodes=5000", func(b *testing.B) {
			for b.Loop() {
				judge.prefilter(judge.full, pod)
			}
		})
	}
}

// One pod comes and goes while cases are open: what a decision costs in upkeep.
func BenchmarkAddRemovePod(b *testing.B) {
	judge := filled(b)
	info, err := NewPod(makePod("guest", "app=web"))
	if err != nil {
		b.Fatal(err)
	}
	cycle := func(b *testing.B) {
		b.Helper()
		for b.Loop() {
			judge.AddPod(info, "node-0042")
			judge.RemovePod(info, "node-0042")
		}
	}
	b.Run("cases=0", cycle)
	for i := range 8 {
		mustCase(b, judge, spreading(makePod(fmt.Sprintf("p-%d", i), "app=web"), "zone", "app=web"))
	}
	b.Run("spread-cases=8", cycle)
	mustCase(b, judge, spreading(makePod("host", "app=web"), v1.LabelHostname, "app=web"))
	b.Run("spread-cases=8+host", cycle)
}
