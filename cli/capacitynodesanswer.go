package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"fairlead.dev/fairlead/capacity/fleet"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
)

// This file is the answer of capacity nodes, as a value and in words.

type nodesAnswer struct {
	Pods int `json:"pods"` // that have a place
	// Price is that of all nodes, and Bound what any nodes cost at least that hold the same pods; Gap is by which part of it
	// the price is above that. Without offers prices count nodes.
	Price float64 `json:"price"`
	Bound float64 `json:"bound"`
	Gap   float64 `json:"gap"`
	// Buy is how many nodes of which offers, and Left pods that no offer takes.
	Buy   []bought   `json:"buy"`
	Left  []leftPods `json:"left"`
	Nodes []fullNode `json:"nodes"`

	kinds  []cluster.Kind
	priced bool
}

type bought struct {
	Offer    string  `json:"offer"`
	Provider string  `json:"provider,omitempty"`
	Count    int     `json:"count"`
	Price    float64 `json:"price"` // of one
	// Used is which part of what these nodes have for pods is asked for, by kind.
	Used map[string]json.Number `json:"used"`
	Pods int                    `json:"pods"`

	used []float64
}

type leftPods struct {
	Owner    string                 `json:"owner"`
	Pods     int                    `json:"pods"`
	Requests map[string]json.Number `json:"requests"`
	Why      string                 `json:"why"`

	demand cluster.Vector
}

type fullNode struct {
	Offer string     `json:"offer"`
	Pods  []heldPods `json:"pods"`
}

type heldPods struct {
	Owner string `json:"owner"`
	Count int    `json:"count"`
}

func newNodesAnswer(n *needs, p *fleet.Plan) *nodesAnswer {
	a := &nodesAnswer{
		Price: float64(p.Price) / priceUnits, Bound: p.Bound / priceUnits, Gap: max(p.Gap(), 0),
		Buy: []bought{}, Left: []leftPods{}, Nodes: []fullNode{}, kinds: n.problem.Kinds, priced: len(n.asked) > 0,
	}
	count, pods := make([]int, len(n.offers)), make([]int, len(n.offers))
	used := make([]cluster.Vector, len(n.offers))
	for o := range used {
		used[o] = make(cluster.Vector, len(a.kinds))
	}
	for _, node := range p.Nodes {
		one := fullNode{Offer: n.problem.Offers[node.Offer].Name}
		count[node.Offer]++
		for _, h := range node.Holds {
			one.Pods = append(one.Pods, heldPods{n.owners[h.Tasks], h.Count})
			a.Pods += h.Count
			pods[node.Offer] += h.Count
			for k, q := range n.problem.Tasks[h.Tasks].Demand {
				used[node.Offer][k] += q * int64(h.Count)
			}
		}
		a.Nodes = append(a.Nodes, one)
	}
	for o, nodes := range count {
		if nodes == 0 {
			continue
		}
		b := bought{Offer: n.offers[o].name, Provider: n.offers[o].provider, Count: nodes, Price: n.offers[o].price, Pods: pods[o], Used: map[string]json.Number{}}
		for k, room := range n.problem.Offers[o].Room {
			part := 0.0
			if room > 0 {
				part = float64(used[o][k]) / float64(nodes) / float64(room)
				b.Used[a.kinds[k].Name] = json.Number(strconv.FormatFloat(part, 'f', 4, 64))
			}
			b.used = append(b.used, part)
		}
		a.Buy = append(a.Buy, b)
	}
	slices.SortStableFunc(a.Buy, func(x, y bought) int {
		switch cost := float64(y.Count)*y.Price - float64(x.Count)*x.Price; {
		case cost > 0:
			return 1
		case cost < 0:
			return -1
		}
		return 0
	})
	for t, left := range p.Left {
		if left > 0 {
			demand := n.problem.Tasks[t].Demand
			a.Left = append(a.Left, leftPods{n.owners[t], left, amounts(a.kinds, demand), n.whyLeft(t), demand})
		}
	}
	return a
}

// whyLeft says why tasks have no node.
func (n *needs) whyLeft(t int) string {
	may, large := false, false
	for o, is := range n.problem.Tasks[t].May {
		may = may || is
		large = large || is && n.problem.Tasks[t].Demand.Fits(n.problem.Offers[o].Room)
	}
	switch {
	case !may:
		return "kept off every offer by its selector, its affinity or their taints"
	case !large:
		return "larger than every offer that it may use"
	}
	return "without an offer that is left, or has its devices"
}

// print says it in words.
func (a *nodesAnswer) print(out io.Writer) error {
	var b strings.Builder
	nodes, total := 0, ""
	for _, x := range a.Buy {
		nodes += x.Count
	}
	if a.priced {
		total = fmt.Sprintf(" for %.3f an hour", a.Price)
	}
	hold := "hold"
	if nodes == 1 {
		hold = "holds"
	}
	fmt.Fprintf(&b, "%s %s %s%s; %s\n\n", report.Count(nodes, "node"), hold, report.Count(a.Pods, "pod"), total, a.gapText())
	a.printTable(&b)
	a.printLeft(&b)
	_, err := io.WriteString(out, b.String())
	return err
}

// gapText says how much better any other nodes could be.
func (a *nodesAnswer) gapText() string {
	switch {
	case a.Gap < 0.00005 && a.priced:
		return "no other nodes cost less"
	case a.Gap < 0.00005:
		return "no fewer do"
	case a.priced:
		return fmt.Sprintf("any others cost at least %.3f: the gap is %.1f %%", a.Bound, 100*a.Gap)
	}
	return fmt.Sprintf("any others are at least %.0f: the gap is %.1f %%", a.Bound, 100*a.Gap)
}

// printLeft lists pods that have no node.
func (a *nodesAnswer) printLeft(b *strings.Builder) {
	for i, l := range a.Left {
		if i == 0 {
			fmt.Fprintln(b, "\nWithout a node:")
		}
		if i == mostReasons {
			fmt.Fprintf(b, "  and those of %s more; -o json has all\n", report.Count(len(a.Left)-i, "owner"))
			return
		}
		fmt.Fprintf(b, "  %s of %s (%s each): %s\n", report.Count(l.Pods, "pod"), report.Printable(l.Owner), amountsText(a.kinds, l.demand), l.Why)
	}
}

func (a *nodesAnswer) printTable(b *strings.Builder) {
	if len(a.Buy) == 0 {
		return
	}
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := []string{"OFFER", "NODES", "PODS"}
	if a.priced {
		head = []string{"OFFER", "NODES", "PRICE", "TOTAL", "PODS"}
	}
	var shown []int
	for k, kind := range a.kinds {
		if kind.Name != "pods" && slices.ContainsFunc(a.Buy, func(x bought) bool { return x.used[k] > 0 }) {
			shown = append(shown, k)
			head = append(head, strings.ToUpper(kind.Name))
		}
	}
	fmt.Fprintln(w, strings.Join(head, "\t")+"\t")
	for _, x := range a.Buy {
		name := x.Offer
		if x.Provider != "" {
			name = x.Provider + "/" + x.Offer
		}
		line := []string{report.Printable(name), report.Grouped(x.Count)}
		if a.priced {
			line = append(line, fmt.Sprintf("%.3f", x.Price), fmt.Sprintf("%.3f", x.Price*float64(x.Count)))
		}
		line = append(line, report.Grouped(x.Pods))
		for _, k := range shown {
			line = append(line, fmt.Sprintf("%.0f %%", 100*x.used[k]))
		}
		fmt.Fprintln(w, strings.Join(line, "\t")+"\t")
	}
	_ = w.Flush() // to memory
}
