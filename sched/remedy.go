package sched

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/cluster"
)

// This file is what would have to be otherwise for a task to find a place. A reason counts each node
// under the first thing that it refuses for; here all that is in the way on a node is gathered, and
// the nodes with the least of it say what would help: a toleration on the nodes that have the devices,
// and not larger ones of those that have none.

// Obstacle is one thing that is in the way of a task on a node: a filter, or room, pieces, size,
// apart or a constraint.
type Obstacle struct {
	// Mechanism is that of a Filtered, or one of the names below.
	Mechanism string
	Wants     string // of a filter, as Filtered has it; of a constraint its name
	Kind      int    // of room, pieces and size
}

// The mechanisms beside those of filters.
const (
	byRoom       = "room"   // too little is left
	byPieces     = "pieces" // enough is left, in devices that are too small
	bySize       = "size"   // too little is there even on an empty node
	byApart      = "apart"
	byConstraint = "constraint"
)

// The filters that are known by name. Of any other mechanism all that is known is its name.
const (
	byLabel    = "label"
	byTaint    = "taint"
	byCordon   = "cordon"
	byNotReady = "not ready"
	byTier     = "tier"
	byClaim    = "claim"
)

// The filters of a node that would take tasks if it was on: it is switched off, and Wants is how long it takes to wake; or it was woken, and will be on.
const (
	ByOff    = "off"
	ByWaking = "waking"
)

// effort is how much there is to change, from what passes by itself to what takes other machines.
func (o Obstacle) effort() int {
	switch o.Mechanism {
	case ByWaking:
		return 1
	case ByOff:
		return 2
	case byRoom:
		return 4
	case byCordon, byTaint:
		return 5
	case byPieces, byApart, byConstraint, byNotReady:
		return 6
	case bySize:
		return 100
	}
	return 10
}

// Remedy is changes that together would let the task come to some nodes.
type Remedy struct {
	Obstacles []Obstacle
	// Short is how much is missing of each of Obstacles that is room, in the kind's quantity, and
	// what is asked of each that is size; 0 of others.
	Short []int64
	Nodes int    // on which that would do
	First string // of these, by name
}

// mostRemedies is how many of them a reason has.
const mostRemedies = 3

// remedies are the changes that take the least effort, those first.
func remedies(s *cluster.View, t cluster.TaskID, f Filters) []Remedy {
	var list []Remedy
	groups := map[string]int{}
	var alike [][]shortage // of each group, those of its nodes
	least := math.MaxInt
	var found survey
	for n := range cluster.NodeID(s.NodeRows()) {
		if !s.NodeLive(n) {
			continue
		}
		found.look(s, t, n, f)
		if found.effort > least || len(found.of) == 0 {
			continue
		}
		least = found.effort
		key := found.key()
		at, known := groups[key]
		if !known {
			at = len(list)
			groups[key] = at
			list, alike = append(list, Remedy{Obstacles: slices.Clone(found.of)}), append(alike, nil)
		}
		alike[at] = append(alike[at], shortage{n, slices.Clone(found.short)})
	}
	for i := range list {
		list[i].settle(s, s.Shape(s.Task(t).Shape).Demand, alike[i])
	}
	list = slices.DeleteFunc(list, func(r Remedy) bool {
		return r.effort() > least || slices.Contains(r.Obstacles, Obstacle{}) // of which nothing is known
	})
	slices.SortStableFunc(list, func(a, b Remedy) int { return cmp.Compare(b.Nodes, a.Nodes) })
	return list[:min(len(list), mostRemedies)]
}

// effort is that of all its obstacles.
func (r *Remedy) effort() (sum int) {
	for _, o := range r.Obstacles {
		sum += o.effort()
	}
	return sum
}

// shortage is how much a node lacks, obstacle by obstacle.
type shortage struct {
	node  cluster.NodeID
	short []int64
}

// settle takes the shortages of the nodes that have these obstacles: what is missing where least is, and
// how many nodes lack no more than that.
func (r *Remedy) settle(s *cluster.View, demand cluster.Vector, nodes []shortage) {
	least := slices.Clone(nodes[0].short)
	for _, n := range nodes[1:] {
		for i, q := range n.short {
			least[i] = min(least[i], q)
		}
	}
	lacks := func(limit []int64) func(shortage) bool {
		return func(n shortage) bool { return within(n.short, limit) }
	}
	r.Short = r.roundedUp(s.Kinds(), least)
	if !slices.ContainsFunc(nodes, lacks(r.Short)) {
		// No node lacks least of all kinds: what the one lacks of which least is missing, as a part of what is asked for.
		r.Short = r.roundedUp(s.Kinds(), slices.MinFunc(nodes, func(a, b shortage) int { return cmp.Compare(r.part(demand, a.short), r.part(demand, b.short)) }).short)
	}
	r.First = s.NodeSpec(nodes[slices.IndexFunc(nodes, lacks(r.Short))].node).Name
	for _, n := range nodes {
		if within(n.short, r.Short) {
			r.Nodes++
		}
	}
}

// part is the largest part of what is asked for of a kind that is missing.
func (r *Remedy) part(demand cluster.Vector, short []int64) (most float64) {
	for i, o := range r.Obstacles {
		if o.Mechanism == byRoom {
			most = max(most, float64(short[i])/float64(demand[o.Kind]))
		}
	}
	return most
}

// roundedUp keeps two digits of what is missing of each kind, in its unit, as nobody asks for 1.983 more cores. What a
// node is to have at all is what is asked for.
func (r *Remedy) roundedUp(kinds []cluster.Kind, short []int64) []int64 {
	up := slices.Clone(short)
	for i, o := range r.Obstacles {
		if o.Mechanism == byRoom {
			up[i] = roundUp(short[i], max(kinds[o.Kind].PerUnit, 1))
		}
	}
	return up
}

// roundUp is q, in so many per unit, in two digits at most of the unit, tenths or thousandths of it among them.
func roundUp(q, perUnit int64) int64 {
	thousandths := ceil(1000*q, perUnit)
	step := int64(1)
	for thousandths/step >= 100 {
		step *= 10
	}
	return ceil(ceil(thousandths, step)*step*perUnit, 1000)
}

func ceil(a, by int64) int64 { return (a + by - 1) / by }

func within(a, limit []int64) bool {
	for i := range a {
		if a[i] > limit[i] {
			return false
		}
	}
	return true
}

// survey is all that is in the way of a task on one node.
type survey struct {
	of     []Obstacle
	short  []int64
	effort int
}

func (v *survey) add(o Obstacle, short int64) {
	v.of, v.short = append(v.of, o), append(v.short, short)
	v.effort += o.effort()
}

// look gathers it.
func (v *survey) look(s *cluster.View, t cluster.TaskID, n cluster.NodeID, f Filters) {
	v.of, v.short, v.effort = v.of[:0], v.short[:0], 0
	task := s.Task(t)
	shape := s.Shape(task.Shape)
	if !s.Eligible(shape.Eligible, n) {
		v.filters(f, shape.Eligible, n)
	}
	limit, used, leaving := s.Limit(n), s.Used(n), s.LeavingDemand(n)
	for k, need := range shape.Demand {
		switch left := limit[k] - used[k] + leaving[k]; {
		case need == 0:
		case need > limit[k]:
			v.add(Obstacle{Mechanism: bySize, Kind: k}, need)
		case need > left:
			v.add(Obstacle{Mechanism: byRoom, Kind: k}, need-left)
		}
	}
	v.devices(s, task.Shape, n)
	if shape.PerNode > 0 && s.Crowded(t, n) {
		v.add(Obstacle{Mechanism: byApart}, 0)
	}
	switch r := s.Breaks(task.Shape, n); {
	case r.Kept: // which passes by itself, and need not be a constraint of the task's own
		v.add(Obstacle{}, 0)
	case r.Refused():
		v.add(Obstacle{Mechanism: byConstraint, Wants: s.Constraint(r.Constraint).Name}, 0)
	}
	v.another()
}

// another is for a node that is too small: it takes another one then, of which all that need be said is how large it is to be,
// and which labels it is to have that this one lacks.
func (v *survey) another() {
	if !slices.ContainsFunc(v.of, ofSize) {
		return
	}
	kept := 0
	for i, o := range v.of {
		if o.Mechanism == bySize || o.Mechanism == byLabel {
			v.of[kept], v.short[kept] = o, v.short[i]
			kept++
		}
	}
	v.of, v.short, v.effort = v.of[:kept], v.short[:kept], 0
	for _, o := range v.of {
		v.effort += o.effort()
	}
}

func ofSize(o Obstacle) bool { return o.Mechanism == bySize }

// filters adds those of the task's own that keep it off the node.
func (v *survey) filters(f Filters, set cluster.SetID, n cluster.NodeID) {
	if f == nil {
		v.add(Obstacle{}, 0)
		return
	}
	for _, by := range f(set, n) {
		v.add(Obstacle{Mechanism: by.Mechanism, Wants: by.Wants}, 0)
	}
}

// devices adds that there are too few in one piece, where the sum would do.
func (v *survey) devices(s *cluster.View, id cluster.ShapeID, n cluster.NodeID) {
	lacks := func(kind int) bool {
		return slices.ContainsFunc(v.of, func(o Obstacle) bool {
			return (o.Mechanism == bySize || o.Mechanism == byRoom) && o.Kind == kind
		})
	}
	if r := s.RefuseDevices(id, n, cluster.Device.WhenEmpty); r.Refused() {
		if !lacks(r.Kind) {
			v.add(Obstacle{Mechanism: bySize, Kind: r.Kind}, s.Shape(id).Demand[r.Kind])
		}
	} else if r := s.RefuseDevices(id, n, cluster.Device.LeftLater); r.Refused() && !lacks(r.Kind) {
		v.add(Obstacle{Mechanism: byPieces, Kind: r.Kind}, 0)
	}
}

// key is the same for the same obstacles.
func (v *survey) key() string {
	var b strings.Builder
	for _, o := range v.of {
		b.WriteString(o.Mechanism + "\x00" + o.Wants + "\x00" + strconv.Itoa(o.Kind) + "\n")
	}
	return b.String()
}

// Code is the obstacle in one word or two, to count by.
func (o Obstacle) Code(kinds []cluster.Kind) string {
	switch o.Mechanism {
	case byRoom, bySize:
		return kinds[o.Kind].Name
	case byPieces:
		return kinds[o.Kind].Name + "-pieces"
	case "":
		return eligibility
	}
	return o.Mechanism
}

// code is that of the obstacle that takes most effort; filters before room, as room comes and goes.
func (r *Remedy) code(kinds []cluster.Kind) string {
	return slices.MaxFunc(r.Obstacles, func(a, b Obstacle) int { return cmp.Compare(a.effort(), b.effort()) }).Code(kinds)
}

// Text says the changes, and where they would help: "with the toleration gpu=yes:NoSchedule on 14 nodes".
func (r *Remedy) Text(kinds []cluster.Kind) string {
	var changes []string
	if slices.ContainsFunc(r.Obstacles, ofSize) {
		return "on a node that has " + r.another(func(i int, o Obstacle) string { return sizeOf(kinds[o.Kind], r.Short[i]) })
	}
	for i, o := range r.Obstacles {
		changes = append(changes, o.change(kinds, r.Short[i]))
	}
	switch {
	case r.Nodes > 1:
		return fmt.Sprintf("%s on any of %d nodes", strings.Join(changes, " and "), r.Nodes)
	}
	return strings.Join(changes, " and ") + " on " + r.First
}

// Sort says what sort of change it is, without amounts and nodes, to gather those that are alike: "with the
// toleration gpu=yes:NoSchedule", "with more cpu free", "on nodes with more nvidia.com/gpu".
func (r *Remedy) Sort(kinds []cluster.Kind) string {
	if slices.ContainsFunc(r.Obstacles, ofSize) {
		return "on nodes with " + r.another(func(_ int, o Obstacle) string { return "more " + kinds[o.Kind].Name })
	}
	var sorts []string
	for _, o := range r.Obstacles {
		if o.Mechanism == byRoom && !kinds[o.Kind].Exclusive() {
			sorts = append(sorts, "with more "+kinds[o.Kind].Name+" free")
		} else {
			sorts = append(sorts, o.change(kinds, 0))
		}
	}
	return strings.Join(sorts, " and ")
}

// another is what another node would have: of each size what is said of it, and labels.
func (r *Remedy) another(size func(int, Obstacle) string) string {
	var sizes, labels []string
	for i, o := range r.Obstacles {
		if o.Mechanism == bySize {
			sizes = append(sizes, size(i, o))
		} else {
			labels = append(labels, "the label "+o.Wants)
		}
	}
	return strings.Join(append(sizes, labels...), " and ")
}

// sizeOf is so much of a kind: "5 cpu", "20 GiB of memory".
func sizeOf(kind cluster.Kind, q int64) string {
	if kind.SaidUnit() != "" {
		return kind.Amount(q) + " of " + kind.Name
	}
	return kind.Amount(q) + " " + kind.Name
}

// change is what would have to be otherwise.
func (o Obstacle) change(kinds []cluster.Kind, short int64) string {
	switch o.Mechanism {
	case byRoom:
		if kinds[o.Kind].Exclusive() {
			return "with " + kinds[o.Kind].Name + " free"
		}
		return fmt.Sprintf("with %s more %s free", kinds[o.Kind].Amount(short), kinds[o.Kind].Name)
	case byPieces:
		return "with what is left of " + kinds[o.Kind].Name + " in one piece"
	case byApart:
		return "without the task of its job that is there"
	case byConstraint:
		return "but for " + o.Wants
	case byTaint:
		return "with the toleration " + o.Wants
	case byCordon:
		return "without the cordon"
	case byNotReady:
		return "once it is ready"
	case ByOff, ByWaking:
		return "once awake"
	case byLabel:
		return "without asking for " + o.Wants
	case byClaim:
		claim, _, _ := strings.Cut(claimed(o.Wants), ": ") // behind which it says why it is never to be had
		return "but for " + claim
	case byTier:
		return "without asking for tier " + o.Wants
	}
	if o.Wants == "" {
		return "but for " + o.Mechanism
	}
	return "but for " + o.Mechanism + " " + o.Wants
}

// is reports whether that is what nodes refuse for by the cause.
func (o Obstacle) is(c Cause) bool {
	switch c := c.(type) {
	case NoRoom:
		return o.Kind == c.Kind && (c.Empty && o.Mechanism == bySize || !c.Empty && o.Mechanism == byRoom)
	case NoPieces:
		return o.Mechanism == byPieces && o.Kind == c.Need.Kind
	case Filtered:
		return o.Mechanism == c.Mechanism && o.Wants == c.Wants
	case NotApart:
		return o.Mechanism == byApart
	case Violates:
		return o.Mechanism == byConstraint && o.Wants == c.Name
	}
	return false
}
