package queue

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched/book"
)

// rivalQueue is the baselines of ECSched as plainly as can be said: a list of
// tasks, a list of what nodes have left, and a loop over both.
type rivalQueue struct {
	list          []cluster.TaskID
	demand        map[cluster.TaskID][2]int64
	capacity      [][2]int64
	free          [][2]int64
	swarm, keep   bool
	window, limit int
}

// score is that of the paper's code.
func (r *rivalQueue) score(demand [2]int64, n int) float64 {
	var f [2]float64
	sum := 0.0
	for k, d := range demand {
		if r.swarm {
			sum += float64(r.capacity[n][k]-r.free[n][k]+d) / float64(r.capacity[n][k])
		} else {
			f[k] = float64(d) / float64(r.free[n][k])
		}
	}
	if r.swarm {
		return sum
	}
	sum = 1 - f[0]
	sum += 2 * (1 - math.Abs(f[0]-f[1]))
	return sum + (1 - f[1])
}

// round returns what is placed in one round, in words.
func (r *rivalQueue) round(at map[cluster.TaskID]int) (placed []string) {
	var rest, passed []cluster.TaskID
	for i, t := range r.list {
		if i >= r.window || len(placed) == r.limit {
			rest = append(rest, t)
			continue
		}
		d, best, most := r.demand[t], -1, 0.0
		for n := range r.free {
			if d[0] > r.free[n][0] || d[1] > r.free[n][1] {
				continue
			}
			if score := r.score(d, n); score > most {
				best, most = n, score
			}
		}
		switch {
		case best >= 0:
			at[t] = best
			r.free[best][0] -= d[0]
			r.free[best][1] -= d[1]
			placed = append(placed, fmt.Sprintf("%d on %d", t, best))
		case r.keep:
			rest = append(rest, t)
		default:
			passed = append(passed, t)
		}
	}
	r.list = append(rest, passed...)
	return placed
}

// TestECSchedBaselines compares them with the rival over random histories.
func TestECSchedBaselines(t *testing.T) {
	total := 0
	for seed := range uint64(200) {
		chance := rand.New(rand.NewPCG(seed, 3))
		r := &rivalQueue{
			demand: map[cluster.TaskID][2]int64{}, swarm: seed&1 > 0, keep: seed&2 > 0,
			window: 1 + chance.IntN(8), limit: 1,
		}
		name, placements := "ecsched-kube", 0
		if r.swarm {
			name = "ecsched-swarm"
		}
		if seed&4 > 0 {
			name += "-throttled"
		} else if placements = chance.IntN(2 * r.window); placements > 0 {
			r.limit = placements
		} else {
			r.limit = r.window
		}
		p, err := New(name, Options{Ties: book.Random, ECSched: ECSched{Window: r.window, Placements: placements, Keep: r.keep}})
		if err != nil {
			t.Fatal(err)
		}
		l := newLab(t, p)
		for range 1 + chance.IntN(6) {
			size := [2]int64{6 + chance.Int64N(10), 6 + chance.Int64N(10)}
			l.node(size[0], size[1])
			r.capacity, r.free = append(r.capacity, size), append(r.free, size)
		}
		at := map[cluster.TaskID]int{}
		for range 60 {
			for range chance.IntN(3) {
				w := work{user: "a", cpu: 1 + chance.Int64N(9), mem: 1 + chance.Int64N(9)}
				task := l.task(w)
				r.list, r.demand[task] = append(r.list, task), [2]int64{w.cpu, w.mem}
			}
			for task := range cluster.TaskID(l.s.TaskRows()) {
				if n, runs := at[task]; runs && chance.IntN(5) == 0 {
					l.end(task)
					delete(at, task)
					r.free[n][0] += r.demand[task][0]
					r.free[n][1] += r.demand[task][1]
				}
			}
			total += compareRound(t, l, r, at)
		}
	}
	if total < 1000 {
		t.Errorf("%d tasks were placed in all: too few to tell", total)
	}
}

// compareRound lets both decide for as long as the policy wants to.
func compareRound(t *testing.T, l *lab, r *rivalQueue, at map[cluster.TaskID]int) (placed int) {
	t.Helper()
	for idle := 0; idle == 0 || l.core.Wake(l.now) < cluster.Never; idle++ {
		var got []string
		rounds := l.core.Counts().Rounds
		for _, d := range l.step() {
			got = append(got, fmt.Sprintf("%d on %d", d.Task, d.Node))
		}
		if l.core.Counts().Rounds == rounds { // nothing has happened
			break
		}
		if want := r.round(at); !slices.Equal(got, want) {
			t.Fatalf("%+v: placed %v, the rival %v, in\n%s", *r, got, want, l.s.Picture())
		}
		placed += len(got)
		l.now = min(l.core.Wake(l.now), l.now+cluster.Second)
		if idle > 1000 {
			t.Fatal("round after round, without end")
		}
	}
	return placed
}

// TestECSchedWithoutKinds has nodes and tasks that lack a kind: nothing of
// nothing is a share of 0.
func TestECSchedWithoutKinds(t *testing.T) {
	for _, name := range []string{"ecsched-kube", "ecsched-swarm"} {
		l := newLab(t, policyNamed(t, name))
		l.node(4, 0)
		full := l.node(2, 0)
		a, b := l.task(work{user: "a", cpu: 2}), l.task(work{user: "a"})
		l.step()
		if name == "ecsched-swarm" {
			l.wantOn(a, full)
			l.wantOn(b, full)
		} else {
			l.wantOn(a, 0)
			l.wantOn(b, 0)
		}
	}
}
