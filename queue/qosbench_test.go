package queue

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// promisedLab is a lab whose classes are gold, silver and bronze, with more tasks than
// there is room for.
type promisedLab struct {
	*lab
	source *rand.Rand
}

// newPromisedLab fills the nodes with some tasks each, and lets some more wait. Calm
// tasks have all been there for long enough that none of them is critical.
func newPromisedLab(b *testing.B, nodes, running, waiting int, calm bool) *promisedLab {
	b.Helper()
	classes := []cluster.Class{
		{Name: "gold", Importance: 0, Availability: cluster.Whole},
		{Name: "silver", Importance: 1, Availability: cluster.Whole * 9 / 10, Budget: cluster.Whole / 10},
		{Name: "bronze", Importance: 2, Availability: cluster.Whole / 2, Budget: cluster.Whole / 2},
	}
	for i := range classes {
		classes[i].Margin, classes[i].Restart = 10*cluster.Second, 2*cluster.Second
	}
	l := newLabOf(b, policyNamed(b, "qos"), classes, sched.Trigger{Watchdog: 10 * cluster.Second, IgnoreOutcomes: true})
	p := &promisedLab{lab: l, source: rand.New(rand.NewPCG(uint64(nodes), uint64(waiting)))}
	for i := range nodes {
		size := []int64{500, 500, 500, 250, 1000}[i%5]
		l.node(size*1000, size*1000)
	}
	mean := 550 * 1000 * nodes / (running + 1)
	class := func() cluster.ClassID {
		if calm {
			return 2
		}
		return cluster.ClassID([]int{0, 1, 1, 2, 2, 2}[p.source.IntN(6)])
	}
	for i := range running + waiting {
		size := int64(mean) * int64(20+p.source.IntN(160)) / 100
		l.task(work{user: fmt.Sprint(i / 4), cpu: size / 500 * 500, mem: size / 4 / 500 * 500, class: class()})
		if i%1000 == 999 {
			p.pass()
		}
	}
	for range 30 {
		p.pass()
	}
	return p
}

// pass lets 10 s go by and runs a pass. It returns how many tasks it evicted.
func (p *promisedLab) pass() int {
	p.now += 10 * cluster.Second
	evicted := 0
	for rounds := p.core.Counts().Rounds; ; {
		for _, d := range p.step() {
			if d.Kind == sched.Evict {
				evicted++
			}
		}
		if len(p.pending) == 0 {
			if p.core.Counts().Rounds != rounds+1 {
				p.t.Fatal("it was not one pass")
			}
			return evicted
		}
	}
}

// again runs a pass at the same moment.
func (p *promisedLab) again() []sched.Decision {
	r := p.core.Begin(0, p.now)
	r.Run(0)
	out := p.core.Finish(r, p.now, nil)
	p.answer(out)
	return out
}

// BenchmarkQoSPass measures a pass 10 s after the last: with everything that comes of
// it, and one more at the same moment, in which nothing is left to do.
func BenchmarkQoSPass(b *testing.B) {
	for _, nodes := range []int{575, 5749} {
		for _, calm := range []bool{true, false} {
			running, waiting := nodes*10, nodes/2
			name := fmt.Sprintf("nodes=%d/running=%d/waiting=%d/calm=%v", nodes, running, waiting, calm)
			b.Run(name, func(b *testing.B) {
				l := newPromisedLab(b, nodes, running, waiting, calm)
				evicted, passes := 0, 0
				b.ReportAllocs()
				for b.Loop() {
					evicted += l.pass()
					passes++
				}
				b.ReportMetric(float64(evicted)/float64(passes), "evictions/op")
				b.ReportMetric(float64(l.s.InPhase(cluster.Waiting)), "waiting")
				b.ReportMetric(float64(l.s.InPhase(cluster.Running)), "running")
			})
		}
	}
}

// BenchmarkQoSIdle measures a pass in which nothing can be done: one more at the same
// moment, and one where large gold tasks wait besides, which nobody who may be evicted
// makes room for.
func BenchmarkQoSIdle(b *testing.B) {
	for _, nodes := range []int{575, 5749} {
		for _, stuck := range []bool{false, true} {
			b.Run(fmt.Sprintf("nodes=%d/running=%d/waiting=%d/stuck=%v", nodes, nodes*10, nodes/2, stuck), func(b *testing.B) {
				l := newPromisedLab(b, nodes, nodes*10, nodes/2, false)
				for i := range nodes / 10 {
					if stuck {
						size := 900_000 + int64(i%100)*1000
						l.task(work{user: fmt.Sprint("large", i), cpu: size, mem: size, class: 0})
					}
				}
				for range 5 {
					l.pass()
				}
				for len(l.again()) > 0 { // victims have victims
					for len(l.pending) > 0 {
						l.step()
					}
				}
				b.ReportAllocs()
				for b.Loop() {
					if out := l.again(); len(out) > 0 {
						b.Fatalf("%d decisions", len(out))
					}
				}
				b.ReportMetric(float64(l.s.InPhase(cluster.Waiting)), "waiting")
			})
		}
	}
}
