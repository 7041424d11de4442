package fleet_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fairlead.dev/fairlead/capacity/fleet"
	"fairlead.dev/fairlead/cluster"
)

// chance is a problem with so many tasks at most, in three kinds, of which one comes in devices.
func chance(rng *rand.Rand, tasks, copies int) *fleet.Problem {
	p := &fleet.Problem{Kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}, {Name: "memory", PerUnit: 1}, {Name: "gpu", PerUnit: 10, Devices: true}}}
	for o := range 2 + rng.IntN(3) {
		room := cluster.Vector{int64(4 + rng.IntN(13)), int64(4 + rng.IntN(13)), int64(10 * rng.IntN(3))}
		p.Offers = append(p.Offers, fleet.Offer{Name: fmt.Sprint("offer", o), Room: room, Price: 10*(room[0]+room[1]) + 20*room[2] + int64(rng.IntN(80))})
	}
	p.Rules = []fleet.Rule{{Max: 0}, {Max: 1}}
	for t := range 1 + rng.IntN(tasks) {
		one := fleet.Tasks{Count: 1 + rng.IntN(copies), Demand: cluster.Vector{int64(rng.IntN(9)), int64(rng.IntN(9)), []int64{0, 0, 3, 6, 10, 20}[rng.IntN(6)]}, Job: t / 2}
		if rng.IntN(4) == 0 {
			one.PerNode = 1 + rng.IntN(2)
		}
		if rng.IntN(4) == 0 {
			one.May = make([]bool, len(p.Offers))
			for o := range one.May {
				one.May[o] = rng.IntN(2) == 0
			}
		}
		switch rng.IntN(6) {
		case 0:
			one.Subject = []int{0}
		case 1:
			one.Target = []int{0}
		case 2:
			one.Subject, one.Target = []int{1}, []int{1}
		}
		p.Tasks = append(p.Tasks, one)
	}
	return p
}

// holds reports whether a node of the offer may hold these tasks; it knows nothing of the package.
func holds(p *fleet.Problem, offer int, tasks []int) bool {
	var shares []int64
	sum := make([]int64, len(p.Kinds))
	jobs := map[int]int{}
	for _, t := range tasks {
		task := &p.Tasks[t]
		if task.May != nil && !task.May[offer] {
			return false
		}
		for k, q := range task.Demand {
			sum[k] += q
		}
		jobs[task.Job]++
		if len(p.Kinds) > 2 {
			for left := task.Demand[2]; left > 0; left -= p.Kinds[2].PerUnit {
				shares = append(shares, min(left, p.Kinds[2].PerUnit))
			}
		}
	}
	for _, t := range tasks {
		task := &p.Tasks[t]
		if task.PerNode > 0 && jobs[task.Job] > task.PerNode {
			return false
		}
		for _, r := range task.Subject {
			others := 0
			for _, o := range tasks {
				if slices.Contains(p.Tasks[o].Target, r) {
					others++
				}
			}
			if slices.Contains(task.Target, r) {
				others-- // itself
			}
			if others > p.Rules[r].Max {
				return false
			}
		}
	}
	for k, q := range sum {
		if q > p.Offers[offer].Room[k] {
			return false
		}
	}
	slices.Sort(shares)
	slices.Reverse(shares)
	return len(shares) == 0 || packs(shares, make([]int64, p.Offers[offer].Room[2]/p.Kinds[2].PerUnit), p.Kinds[2].PerUnit)
}

func packs(shares, used []int64, size int64) bool {
	if len(shares) == 0 {
		return true
	}
	for i := range used {
		if used[i]+shares[0] > size || slices.Contains(used[:i], used[i]) {
			continue
		}
		used[i] += shares[0]
		ok := packs(shares[1:], used, size)
		used[i] -= shares[0]
		if ok {
			return true
		}
	}
	return false
}

// check holds a plan against the problem.
func check(p *fleet.Problem, plan *fleet.Plan) error {
	price, bought := int64(0), make([]int, len(p.Offers))
	count := make([]int, len(p.Tasks))
	for i, n := range plan.Nodes {
		var tasks []int
		for _, h := range n.Holds {
			tasks = append(tasks, slices.Repeat([]int{h.Tasks}, h.Count)...)
			count[h.Tasks] += h.Count
		}
		if len(tasks) == 0 || !holds(p, n.Offer, tasks) {
			return fmt.Errorf("node %d of offer %d may not hold %v", i, n.Offer, n.Holds)
		}
		bought[n.Offer]++
		price += p.Offers[n.Offer].Price
	}
	for o, n := range bought {
		if most := p.Offers[o].Most; most > 0 && n > most {
			return fmt.Errorf("%d nodes of offer %d, of which there are %d", n, o, most)
		}
	}
	for t := range p.Tasks {
		if count[t]+plan.Left[t] != p.Tasks[t].Count || plan.Left[t] < 0 {
			return fmt.Errorf("of tasks %d are %d on nodes and %d left, want %d in all", t, count[t], plan.Left[t], p.Tasks[t].Count)
		}
	}
	for t, left := range plan.Left {
		for o := range p.Offers {
			if left > 0 && (p.Offers[o].Most == 0 || bought[o] < p.Offers[o].Most) && holds(p, o, []int{t}) {
				return fmt.Errorf("%d of tasks %d are left, which offer %d would take", left, t, o)
			}
		}
	}
	if price != plan.Price || plan.Bound > float64(price)*(1+1e-9) {
		return fmt.Errorf("the price is %d, said to be %d, the bound %g", price, plan.Price, plan.Bound)
	}
	return nil
}

// least is the least price of all tasks, by trying all ways to divide them among nodes; +Inf if some fit nowhere.
func least(p *fleet.Problem) float64 {
	var tasks []int
	for t := range p.Tasks {
		tasks = append(tasks, slices.Repeat([]int{t}, p.Tasks[t].Count)...)
	}
	all := 1 << len(tasks)
	node, best := make([]float64, all), make([]float64, all)
	for set := 1; set < all; set++ {
		var some []int
		for i, t := range tasks {
			if set>>i&1 != 0 {
				some = append(some, t)
			}
		}
		node[set] = math.Inf(1)
		for o := range p.Offers {
			if holds(p, o, some) {
				node[set] = min(node[set], float64(p.Offers[o].Price))
			}
		}
	}
	for set := 1; set < all; set++ {
		best[set] = node[set]
		for part := (set - 1) & set; part > 0; part = (part - 1) & set {
			best[set] = min(best[set], node[part]+best[set&^part])
		}
	}
	return best[all-1]
}

// TestLeast holds plans and bounds against the least price of small problems.
func TestLeast(t *testing.T) {
	solved, best, tight := 0, 0, 0.0
	for seed := range uint64(150) {
		p := chance(rand.New(rand.NewPCG(seed, 1)), 4, 2)
		plan, err := fleet.Solve(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := check(p, &plan); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		want := least(p)
		if left := slices.ContainsFunc(plan.Left, func(n int) bool { return n > 0 }); left != math.IsInf(want, 1) {
			t.Errorf("seed %d: left are %v, and the least price is %g", seed, plan.Left, want)
		} else if left {
			continue
		}
		if plan.Bound > want*(1+1e-9) || float64(plan.Price) < want {
			t.Errorf("seed %d: price %d, bound %g, the least is %g", seed, plan.Price, plan.Bound, want)
		}
		solved++
		tight += plan.Bound / want
		if float64(plan.Price) == want {
			best++
		}
	}
	if solved < 50 || best < solved*9/10 || tight < 0.8*float64(solved) {
		t.Errorf("of %d problems %d are solved best, and bounds are %.2f of the least in the mean", solved, best, tight/float64(solved))
	}
}

// TestMany checks larger plans, with offers of which there are few.
func TestMany(t *testing.T) {
	limited := 0
	for seed := range uint64(30) {
		p := chance(rand.New(rand.NewPCG(seed, 2)), 12, 20)
		if seed%2 == 0 {
			for o := range p.Offers[1:] {
				p.Offers[o].Most = 3
			}
		}
		plan, err := fleet.Solve(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := check(p, &plan); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		for o := range p.Offers {
			n := 0
			for _, node := range plan.Nodes {
				if node.Offer == o {
					n++
				}
			}
			if n > 0 && n == p.Offers[o].Most {
				limited++
			}
		}
		again, _ := fleet.Solve(p)
		if fmt.Sprint(again) != fmt.Sprint(plan) {
			t.Errorf("seed %d: the second plan differs", seed)
		}
	}
	if limited < 5 {
		t.Errorf("%d offers are bought up", limited)
	}
}

func TestValidate(t *testing.T) {
	for _, o := range []fleet.Offer{{Room: cluster.Vector{1}}, {Room: cluster.Vector{1}, Price: -1}, {Room: cluster.Vector{1, 2}, Price: 1}, {Room: cluster.Vector{1}, Price: 1, Most: -1}} {
		if _, err := fleet.Solve(&fleet.Problem{Kinds: []cluster.Kind{{Name: "cpu"}}, Offers: []fleet.Offer{o}}); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}
