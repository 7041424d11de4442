package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fairlead/capacity"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/report"
)

// This file is the answer of capacity fit, as a value and in words.

// fitAnswer is the answer of fit.
type fitAnswer struct {
	Fits []fitted `json:"fits"`
	// Waiting is how many pods of the cluster wait, of which none has got the room that is counted.
	Waiting int `json:"waiting"`

	kinds []cluster.Kind
}

// fitted is how many pods of one owner fit.
type fitted struct {
	Like     string                 `json:"like"`
	Requests map[string]json.Number `json:"requests"`
	Wanted   int                    `json:"wanted,omitempty"` // of a manifest
	Fit      int                    `json:"fit"`
	Bound    int                    `json:"bound"`
	More     bool                   `json:"more,omitempty"` // it was not looked for more
	Reason   string                 `json:"reason,omitempty"`
	Limits   []fitLimit             `json:"limits"`
	Nodes    []fitNode              `json:"nodes"`

	demand cluster.Vector
}

// fitLimit is one thing for which nodes take no more.
type fitLimit struct {
	Code  string `json:"code"`
	Nodes int    `json:"nodes"`
	Text  string `json:"text"`
}

type fitNode struct {
	Node string `json:"node"`
	Fit  int    `json:"fit"`
}

// add counts for how many more pods like one there is room, up to so many.
func (a *fitAnswer) add(l *look, c *capacity.Counter, like cluster.TaskID, name string, most int) error {
	f, err := c.Count(like, most)
	if err != nil {
		return err
	}
	v := l.v
	one := fitted{
		Like: name, Requests: amounts(a.kinds, v.Demand(like)), Fit: f.Count, Bound: f.Bound, More: f.Count == most,
		Limits: []fitLimit{}, Nodes: []fitNode{}, demand: v.Demand(like),
	}
	for _, on := range f.On {
		one.Nodes = append(one.Nodes, fitNode{v.NodeSpec(on.Node).Name, on.Count})
	}
	if f.Count < most {
		why := l.Core.Name(f.Why, like)
		one.Reason = why.Text(a.kinds)
		for _, cause := range why.Causes {
			if text := cause.Text(a.kinds); text != "" {
				one.Limits = append(one.Limits, fitLimit{cause.Code(a.kinds), cause.Refusing(), text})
			}
		}
		slices.SortStableFunc(one.Limits, func(a, b fitLimit) int { return b.Nodes - a.Nodes })
	}
	a.Fits = append(a.Fits, one)
	return nil
}

// countAsked counts for pods that were added to the cluster: those of a manifest, of which each owner wants so
// many, or the plain one. Owners come in the order of their names, and what one has got the next one has not.
func countAsked(l *look, rows []cluster.TaskID, manifest bool) (*fitAnswer, error) {
	answer := &fitAnswer{kinds: l.v.Kinds(), Waiting: l.v.InPhase(cluster.Waiting) - len(rows)}
	counter := capacity.NewCounter(l.v)
	asked := map[string][]cluster.TaskID{}
	for _, row := range rows {
		asked[l.Owners[row]] = append(asked[l.Owners[row]], row)
	}
	for _, owner := range slices.Sorted(maps.Keys(asked)) {
		pods, most, name := asked[owner], capacity.MostTasks, "a plain pod"
		if manifest {
			most, name = len(pods), owner
		}
		if err := answer.add(l, counter, pods[0], name, most); err != nil {
			return nil, err
		}
		if manifest {
			last := &answer.Fits[len(answer.Fits)-1]
			last.Wanted, last.More = len(pods), false
		}
	}
	return answer, nil
}

// print says it in words.
func (a *fitAnswer) print(out io.Writer) error {
	var b strings.Builder
	for i := range a.Fits {
		a.Fits[i].print(&b, a.kinds)
	}
	if a.Waiting > 0 {
		fmt.Fprintf(&b, "Waiting in the cluster, and competing for this room: %s.\n", report.Count(a.Waiting, "pod"))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func (f *fitted) print(b *strings.Builder, kinds []cluster.Kind) {
	count := report.Grouped(f.Fit)
	if f.Wanted > 0 {
		count += " of " + report.Grouped(f.Wanted)
	} else {
		count += " more"
	}
	if f.More {
		count = "at least " + count
	}
	fmt.Fprintf(b, "%s fit: %s, %s each\n", count, report.Printable(f.Like), amountsText(kinds, f.demand))
	if f.Bound > f.Fit {
		fmt.Fprintf(b, "No more than %s can, in whatever order.\n", report.Grouped(f.Bound))
	}
	if len(f.Limits) > 0 {
		fmt.Fprintln(b, "\nWhy not one more:")
		for _, l := range f.Limits {
			fmt.Fprintf(b, "  %s\n", report.Printable(l.Text))
		}
	} else if f.Reason != "" {
		fmt.Fprintf(b, "\nWhy not one more: %s\n", report.Printable(f.Reason))
	}
	by := map[int][]string{}
	var counts []int
	for _, n := range f.Nodes {
		if by[n.Fit] == nil {
			counts = append(counts, n.Fit)
		}
		by[n.Fit] = append(by[n.Fit], n.Node)
	}
	slices.SortFunc(counts, func(a, b int) int { return b - a })
	if len(counts) > 0 {
		fmt.Fprintln(b, "\nWhere:")
	}
	for _, count := range counts {
		names := by[count]
		fmt.Fprintf(b, "  %s on %s: %s\n", report.Grouped(count), each(len(names)), namesText(names, 5))
	}
	fmt.Fprintln(b)
}

func each(nodes int) string {
	if nodes == 1 {
		return "1 node"
	}
	return "each of " + report.Grouped(nodes) + " nodes"
}

// findLike is a task of the cluster by its name, or by who made it.
func findLike(l *look, text string) (cluster.TaskID, error) {
	for row, name := range l.Names {
		if name == text || name != "" && strings.HasSuffix(name, "/"+text) && !strings.Contains(text, "/") {
			return cluster.TaskID(row), nil
		}
	}
	var names []string
	for row, name := range l.Names {
		if l.Owners[row] != "" && isOwner(l.Owners[row], text) {
			return cluster.TaskID(row), nil
		}
		for _, name := range []string{name, l.Owners[row]} {
			if name != "" {
				names = append(names, name)
			}
		}
	}
	if near, is := nearest.Of(text, names); is {
		return 0, fmt.Errorf("there is no pod %s, and nobody of that name who made some; did you mean %s?", report.Printable(text), report.Printable(near))
	}
	return 0, fmt.Errorf("there is no pod %s, and nobody of that name who made some; want one such as shop/web-0 or deploy/web", report.Printable(text))
}

// isOwner reports whether the owner, such as shop/replicaset/web-5d9f, is called so: web, deploy/web or shop/deployment/web, for
// one. A ReplicaSet is called as its Deployment, too.
func isOwner(owner, text string) bool {
	has := strings.SplitN(owner, "/", 3)
	asked := strings.Split(text, "/")
	if len(has) != 3 || len(asked) > 3 {
		return false
	}
	name := asked[len(asked)-1]
	kind, namespace := "", has[0]
	switch len(asked) {
	case 2:
		kind = asked[0]
	case 3:
		namespace, kind = asked[0], asked[1]
	}
	short := map[string]string{"deploy": "deployment", "deployments": "deployment", "sts": "statefulset", "statefulsets": "statefulset", "rs": "replicaset", "ds": "daemonset", "daemonsets": "daemonset", "po": "pod", "jobs": "job"}
	if long, is := short[kind]; is {
		kind = long
	}
	if namespace != has[0] {
		return false
	}
	if name == has[2] && (kind == "" || kind == has[1]) {
		return true
	}
	at := strings.LastIndexByte(has[2], '-')
	return has[1] == "replicaset" && (kind == "" || kind == "deployment") && at > 0 && has[2][:at] == name
}
