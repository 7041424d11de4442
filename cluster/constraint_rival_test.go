package cluster

import (
	"fmt"
	"math"
)

// This file is the slow and obvious rival of what is counted for constraints: for each
// task on its own it looks at all others, by tags and names. Histories are held to it.

// runs are the tasks as a tense sees them, once for each node that they count on.
func (h *history) runs(t tense) (list []struct {
	task TaskID
	node NodeID
},
) {
	for i := range h.s.TaskRows() {
		task := h.s.Task(TaskID(i))
		if !task.Placed() {
			continue
		}
		for _, n := range []NodeID{task.Node, task.Next} {
			if n == NoNode || n == h.gone && n == task.Node && task.Phase == Leaving || t == settled && n == task.Node && task.Phase == Leaving {
				continue
			}
			list = append(list, struct {
				task TaskID
				node NodeID
			}{TaskID(i), n})
		}
	}
	return list
}

// setName is the set of the group that the node is in; "" if in none.
func (h *history) setName(n NodeID, group string) string {
	if group == EachNode {
		return fmt.Sprint("node ", n)
	}
	for _, l := range h.s.NodeSpec(n).Groups {
		if l.Key == group {
			return "set " + l.Value
		}
	}
	return ""
}

// count is how many tasks other than one the bound counts in a set.
func (h *history) count(b *Bound, set string, but int, t tense) int32 {
	counted := map[TaskID]bool{}
	for _, r := range h.runs(t) {
		if _, target := b.Affects(h.s.Shape(h.s.Task(r.task).Shape).Tags); target && set != "" && h.setName(r.node, b.Group) == set && int(r.task) != but {
			counted[r.task] = true
		}
	}
	return int32(len(counted))
}

// rival is how many subjects violate an alternative of the constraint, and what they miss. Of what binds who comes, who would not be let in where it is.
func (h *history) rival(spec *Constraint, bounds []Bound, t tense) (subjects, violating, misses int64) {
	for _, b := range bounds {
		one := func(set string, but int) {
			subjects++
			if m := b.Misses(h.count(&b, set, but, t)); m > 0 && !spec.Arriving {
				violating, misses = violating+1, misses+m
			}
		}
		met := map[string]bool{}
		for i := range h.s.NodeRows() {
			if set := ""; len(b.Subject) == 0 && h.s.NodeLive(NodeID(i)) {
				if set = h.setName(NodeID(i), b.Group); set != "" && !met[set] {
					met[set] = true
					one(set, -1)
				}
			}
		}
		subject := map[string]bool{}
		for _, r := range h.runs(t) {
			set := h.setName(r.node, b.Group)
			key := fmt.Sprint(r.task, set)
			if is, _ := b.Affects(h.s.Shape(h.s.Task(r.task).Shape).Tags); is && !subject[key] {
				subject[key] = true // once in a set, though it moves in it
				but := int(r.task)
				if b.SelfCounted {
					but = -1
				}
				one(set, but)
			}
		}
		if spec.Arriving {
			bad, missed := h.standBadly(&b)
			violating, misses = violating+bad, misses+missed
		}
	}
	return subjects, violating, misses
}

// standBadly is how many subjects would not be let in where they are, and what they miss.
func (h *history) standBadly(b *Bound) (violating, misses int64) {
	when := present
	if b.OverFewest {
		when = settled
	}
	met := map[string]bool{}
	for _, r := range h.runs(when) {
		subject, target := b.Affects(h.s.Shape(h.s.Task(r.task).Shape).Tags)
		set := h.setName(r.node, b.Group)
		if key := fmt.Sprint(r.task, set); !subject || met[key] {
			continue
		}
		met[fmt.Sprint(r.task, set)] = true
		held, but := *b, int(r.task)
		if b.SelfCounted {
			but = -1
		}
		count, missed := h.count(b, set, but, when), int64(0)
		if b.OverFewest {
			held.Max += h.fewest(b)
		}
		switch {
		case b.OverFewest && set == "":
			missed = 1000
		case b.OrFirst && target && set != "" && h.everywhere(b) == 1 && count <= b.Max:
		default:
			missed = held.Misses(count)
		}
		if missed > 0 {
			violating, misses = violating+1, misses+missed
		}
	}
	return violating, misses
}

// standsBadly reports whether the task would not be let in where it is; of a bound over the fewest, if it stays.
func (h *history) standsBadly(b *Bound, t TaskID) bool {
	task := h.s.Task(t)
	_, target := b.Affects(h.s.Shape(task.Shape).Tags)
	set := h.setName(task.Node, b.Group)
	if b.OverFewest {
		return task.Phase != Leaving && !h.lets(b, target, t, task.Node, settled)
	}
	if b.OrFirst && target && set != "" && h.everywhere(b) == 1 {
		return false
	}
	but := int(t)
	if b.SelfCounted {
		but = -1
	}
	return b.Misses(h.count(b, set, but, present)) > 0
}

// standsBeside reports whether the task is where a hard constraint that binds who comes would not let it in.
func (h *history) standsBeside(t TaskID) bool {
	for c := range ConstraintID(h.s.ConstraintRows()) {
		spec := h.s.Constraint(c)
		if spec == nil || !spec.Arriving || !spec.Hard {
			continue
		}
		for _, b := range spec.Any[0] {
			if subject, _ := b.Affects(h.s.Shape(h.s.Task(t).Shape).Tags); subject && h.standsBadly(&b, t) {
				return true
			}
		}
	}
	return false
}

// everywhere is how many targets a bound counts in all sets, at present, each in each set that it counts in.
func (h *history) everywhere(b *Bound) (sum int32) {
	met := map[string]bool{}
	for i := range h.s.NodeRows() {
		if name := h.setName(NodeID(i), b.Group); name != "" && !met[name] && h.s.NodeLive(NodeID(i)) {
			met[name] = true
			sum += h.count(b, name, -1, present)
		}
	}
	return sum
}

// fewest is how many targets who stay there are where there are the fewest.
func (h *history) fewest(b *Bound) int32 {
	sets := map[string]int32{}
	for i := range h.s.NodeRows() {
		if name := h.setName(NodeID(i), b.Group); h.s.NodeLive(NodeID(i)) && name != "" {
			sets[name] = h.count(b, name, -1, settled)
		}
	}
	fewest := int32(math.MaxInt32)
	for _, count := range sets {
		fewest = min(fewest, count)
	}
	if len(sets) < int(b.LeastSets) || len(sets) == 0 {
		return 0
	}
	return fewest
}

// rivalLeast is how many subjects violate the constraint, by tense.
func (h *history) rivalLeast(c ConstraintID) (least [tenses]int64) {
	for t := range tenses {
		least[t] = math.MaxInt64
		spec := h.s.Constraint(c)
		for _, bounds := range spec.Any {
			_, violating, _ := h.rival(spec, bounds, t)
			least[t] = min(least[t], violating)
		}
	}
	return least
}

// hard are the violations of all hard constraints; leaves says that it is of those to which is held who makes room.
func (h *history) hard(leaves bool) map[ConstraintID][tenses]int64 {
	all := map[ConstraintID][tenses]int64{}
	for c := range ConstraintID(h.s.ConstraintRows()) {
		if spec := h.s.Constraint(c); spec != nil && spec.Hard && !spec.Arriving && (!leaves || !spec.Lenient) {
			all[c] = h.rivalLeast(c)
		}
	}
	return all
}

// checkConstraints compares how constraints stand, and what is said of a placement, with
// what the rival finds before and after it.
func (h *history) checkConstraints() error {
	chosen := make([]int32, h.s.ConstraintRows())
	for c := range ConstraintID(h.s.ConstraintRows()) {
		spec := h.s.Constraint(c)
		if spec == nil {
			continue
		}
		got := h.s.Standing(c, 1000, 100)
		chosen[c] = int32(got.Alternative)
		want, least := Standing{}, int64(math.MaxInt64)
		for i, bounds := range spec.Any {
			subjects, violating, misses := h.rival(spec, bounds, present)
			if cost := 1_000_000*violating + 100*misses; cost < least {
				want, least = Standing{i, subjects, violating, misses}, cost
			}
		}
		if got != want {
			return fmt.Errorf("constraint row %d stands at %+v, want %+v", c, got, want)
		}
	}
	if err := h.checkBound(chosen); err != nil {
		return err
	}
	for t := range TaskID(h.s.TaskRows()) {
		for n := range NodeID(historyNodes) {
			if h.s.takes(t, n).Refused() {
				continue
			}
			late := h.comesLate(t, n)
			if task := h.s.Task(t); (&coming{view: &h.s.View, priority: task.Priority, table: h.s.constraints, n: n, from: task.Node}).arrives(&h.s.View, task.Shape).Refused() != late {
				return fmt.Errorf("task row %d on node row %d: may come: %v", t, n, !late)
			}
			if late {
				h.late++
			}
			if err := h.checkWaits(t, n); err != nil {
				return err
			}
		}
	}
	looks := 4
	for i := range h.s.TaskRows() * historyNodes {
		t, n := TaskID(i/historyNodes), NodeID(i%historyNodes)
		if looks == 0 || h.s.takes(t, n).Refused() {
			continue
		}
		if err := h.checkAdmits(t, n); err != nil {
			return err
		}
		looks--
	}
	return nil
}

// checkBound compares who is said to be bound, and to violate an alternative that was chosen,
// with what the rival counts.
func (h *history) checkBound(chosen []int32) error {
	for t := range TaskID(h.s.TaskRows()) {
		task := h.s.Task(t)
		if !task.Placed() {
			continue
		}
		var want [2]bool
		for c := range ConstraintID(h.s.ConstraintRows()) {
			if spec := h.s.Constraint(c); spec != nil {
				bound, violated := h.boundBy(t, spec, int(chosen[c]))
				want = [2]bool{want[0] || bound, want[1] || violated}
			}
		}
		bound, violated := h.s.Bound(t, chosen)
		if got := [2]bool{bound, violated}; got != want {
			return fmt.Errorf("task row %d is bound and violates: %v, want %v", t, got, want)
		}
	}
	return nil
}

// boundBy is checkBound for one constraint.
func (h *history) boundBy(t TaskID, spec *Constraint, chosen int) (bound, violated bool) {
	for i, bounds := range spec.Any {
		for _, b := range bounds {
			if subject, _ := b.Affects(h.s.Shape(h.s.Task(t).Shape).Tags); !subject {
				continue
			}
			but := int(t)
			if b.SelfCounted {
				but = -1
			}
			bound = true
			if spec.Arriving {
				violated = violated || h.standsBadly(&b, t)
				continue
			}
			violated = violated || i == chosen && b.Misses(h.count(&b, h.setName(h.s.Task(t).Node, b.Group), but, present)) > 0
		}
	}
	return bound, violated
}

// soft is what soft constraints cost at present, as SoftCost has it.
func (h *history) soft() (cost int64) {
	for c := range ConstraintID(h.s.ConstraintRows()) {
		spec, least := h.s.Constraint(c), int64(math.MaxInt64)
		if spec == nil || spec.Hard || spec.Arriving {
			continue
		}
		for _, bounds := range spec.Any {
			_, violating, misses := h.rival(spec, bounds, present)
			least = min(least, 1_000_000*violating+100*misses)
		}
		cost += spec.Weight * least / (1000 * DefaultWeight)
	}
	return cost
}

// charges is what soft constraints that bind who comes charge a task that comes to the node, by a look at all others.
func (h *history) charges(t TaskID, n NodeID) (cost int64) {
	tags := h.s.Shape(h.s.Task(t).Shape).Tags
	for c := range ConstraintID(h.s.ConstraintRows()) {
		spec := h.s.Constraint(c)
		if spec == nil || spec.Hard || !spec.Arriving {
			continue
		}
		for _, b := range spec.Any[0] {
			subject, target := b.Affects(tags)
			most := int64(0)
			for when := range tenses {
				if subject {
					most = max(most, h.charged(&b, target, t, n, when))
				}
			}
			if target && !b.OverFewest {
				most += h.putsOff(&b, subject, n)
			}
			cost += spec.Weight * most / (1000 * DefaultWeight)
		}
	}
	return cost
}

// charged is what one bound charges.
func (h *history) charged(b *Bound, target bool, t TaskID, n NodeID, when tense) (cost int64) {
	set, others := h.setName(n, b.Group), int32(0)
	if target && b.SelfCounted {
		others = 1
	}
	if set != "" {
		others += h.count(b, set, int(t), when)
	}
	held := *b
	switch {
	case b.OverFewest && when == present:
		return 0
	case b.OverFewest && set == "":
		return 1_000_000 + 100*1000
	case b.OverFewest:
		beyond := others - h.fewest(b)
		if target && b.SelfCounted {
			beyond--
		}
		cost = 100 * int64(1000*max(beyond, 0)/max(b.Max, 1))
		held.Max += h.fewest(b)
	default:
		if h.lets(b, target, t, n, when) {
			return 0
		}
		cost = 100 * held.Misses(others)
	}
	if held.Misses(others) > 0 {
		cost += 1_000_000
	}
	return cost
}

// putsOff is what a target is charged for the subjects that it puts off.
func (h *history) putsOff(b *Bound, subject bool, n NodeID) int64 {
	set, met := h.setName(n, b.Group), map[TaskID]bool{}
	there, off := 0, int64(0)
	for _, r := range h.runs(present) {
		if is, _ := b.Affects(h.s.Shape(h.s.Task(r.task).Shape).Tags); !is || set == "" || h.setName(r.node, b.Group) != set || met[r.task] {
			continue
		}
		met[r.task] = true
		there++
		but := int(r.task)
		if b.SelfCounted {
			but = -1
		}
		if h.count(b, set, but, present) >= b.Max {
			off++
		}
	}
	subjects := false
	for _, r := range h.runs(present) {
		is, _ := b.Affects(h.s.Shape(h.s.Task(r.task).Shape).Tags)
		subjects = subjects || is
	}
	misses := 1000 * off / int64(max(b.Max, 1))
	switch {
	case off > 0:
	case b.Min > 0 && there == 0 && subjects && !subject:
		misses = 1000
	default:
		return 0
	}
	return 1_000_000 + 100*misses
}

// checkSoft compares what is said of a placement with what comes of it in soft constraints.
func (h *history) checkSoft() error {
	for t := range TaskID(h.s.TaskRows()) {
		for n := range NodeID(historyNodes) {
			if h.s.Task(t).Phase != Waiting || h.s.Admits(t, n).Refused() {
				continue
			}
			h.s.Begin(NoLane)
			shape := h.s.Task(t).Shape
			before, more := h.soft()-h.charges(t, n), SoftCost(&h.s.View, shape, n, 1000, 100)
			if least, known := SoftFloor(&h.s.View, shape, 1000, 100); known && (least > more || least < 0) {
				return fmt.Errorf("task row %d on node row %d costs %d more in soft constraints, and %d at least", t, n, more, least)
			}
			placed, after := h.s.Place(t, n, 0), h.soft()
			now := h.s.Task(t).Phase == Starting
			h.s.End()
			if !placed.Refused() && now && after-before != more {
				return fmt.Errorf("task row %d on node row %d costs %d more in soft constraints, want %d", t, n, more, after-before)
			}
			if more != 0 {
				h.softly++
			}
		}
	}
	return nil
}

// checkAdmits compares what is said of a placement with what comes of it.
func (h *history) checkAdmits(t TaskID, n NodeID) error {
	h.s.Begin(NoLane)
	defer h.s.End()
	before, noted := h.hard(false), h.s.Violations(t, false, nil)
	refusal := h.s.Admits(t, n)
	if refusal.Code == Violates && refusal.Have >= refusal.Need == (refusal.Have <= refusal.Need) {
		return fmt.Errorf("task row %d on node row %d: refused for counting %d with a bound of %d", t, n, refusal.Have, refusal.Need)
	}
	late, kept := h.comesLate(t, n), Keeps(&h.s.View, t, n)
	if r := h.s.Place(t, n, 0); r.Refused() {
		if !late || r != refusal && refusal.Code != Violates || r.Code != Violates {
			return fmt.Errorf("task row %d on node row %d: refused for %s, may come: %v, predicted %s", t, n, r.Code, !late, refusal.Code)
		}
		return nil
	}
	if late {
		if h.s.Task(t).Phase != Reserved {
			return fmt.Errorf("task row %d on node row %d: came, and a constraint binds who comes", t, n)
		}
		refusal = kept
	}
	if err := h.compareWorse(false, refusal, noted, before); err != nil {
		return err
	}
	for other := range h.s.task {
		t := TaskID(other)
		before, noted, refusal := h.hard(true), h.s.Violations(t, true, nil), h.s.Releases(t)
		if h.s.Evict(t).Refused() {
			continue
		}
		if err := h.compareWorse(true, refusal, noted, before); err != nil {
			return fmt.Errorf("evicting task row %d: %w", t, err)
		}
		return nil
	}
	return nil
}

// comesLate reports whether a constraint that binds who comes keeps the task off the node, by a look at all others.
func (h *history) comesLate(t TaskID, n NodeID) bool {
	tags := h.s.Shape(h.s.Task(t).Shape).Tags
	for c := range ConstraintID(h.s.ConstraintRows()) {
		spec := h.s.Constraint(c)
		if spec == nil || !spec.Arriving || !spec.Hard {
			continue
		}
		for _, b := range spec.Any[0] {
			subject, target := b.Affects(tags)
			for when := range tenses {
				if subject && !h.lets(&b, target, t, n, when) {
					return true
				}
			}
		}
	}
	return h.disturbs(t, n)
}

// checkWaits compares where a waiting task may come, be it that it waits for who leaves the node, with what is so without those who do.
func (h *history) checkWaits(t TaskID, n NodeID) error {
	task := h.s.Task(t)
	if task.Phase != Waiting {
		return nil
	}
	comes := comesTo(&h.s.View, t, n)
	refused := comes.arrives(&h.s.View, task.Shape).Refused()
	late := h.comesLate(t, n)
	if !late && refused || !refused && comes.waits != (late || h.waitsFor(t, n)) {
		return fmt.Errorf("task row %d on node row %d: refused: %t, waits: %t, and may come at once: %t", t, n, refused, comes.waits, !late)
	}
	for _, other := range h.s.TasksOn(n) {
		if task := h.s.Task(other); task.Next == n || task.Next != NoNode && task.Node == n {
			return nil // who comes there from its own set hides one that leaves, and who leaves it for another node of the set is counted there, once it has
		}
	}
	h.gone = n
	late = h.comesLate(t, n)
	h.gone = NoNode
	if refused != late {
		return fmt.Errorf("task row %d on node row %d: refused: %t, and without those who leave it: %t", t, n, refused, late)
	}
	if comes.waits {
		h.waits++
	}
	return nil
}

// waitsFor reports whether a bound over the fewest would not let the task come to the node if those stayed who were evicted there.
func (h *history) waitsFor(t TaskID, n NodeID) bool {
	evicted := map[TaskID]bool{}
	for _, other := range h.s.TasksOn(n) {
		evicted[other] = h.s.Task(other).Told == ToLeave && h.s.Task(other).Node == n
	}
	for c := range ConstraintID(h.s.ConstraintRows()) {
		spec := h.s.Constraint(c)
		if spec == nil || !spec.Arriving || !spec.Hard {
			continue
		}
		for _, b := range spec.Any[0] {
			subject, target := b.Affects(h.s.Shape(h.s.Task(t).Shape).Tags)
			if !subject || !b.OverFewest {
				continue
			}
			others := h.count(&b, h.setName(n, b.Group), int(t), settled)
			if target && b.SelfCounted {
				others++
			}
			for other, is := range evicted {
				if _, counts := b.Affects(h.s.Shape(h.s.Task(other).Shape).Tags); is && counts {
					others++
				}
			}
			if others > h.fewest(&b)+b.Max {
				return true
			}
		}
	}
	return false
}

// disturbs reports whether the task would come to a set where a place is kept for somebody, and keep that one off.
func (h *history) disturbs(t TaskID, n NodeID) bool {
	for c := range ConstraintID(h.s.ConstraintRows()) {
		spec := h.s.Constraint(c)
		if spec == nil || !spec.Arriving || !spec.Hard {
			continue
		}
		for _, b := range spec.Any[0] {
			_, target := b.Affects(h.s.Shape(h.s.Task(t).Shape).Tags)
			set := h.setName(n, b.Group)
			if from := h.s.Task(t).Node; !target || set == "" || from != NoNode && h.setName(from, b.Group) == set {
				continue
			}
			var nodes []NodeID
			for m := range NodeID(h.s.NodeRows()) {
				if h.s.NodeLive(m) && h.setName(m, b.Group) == set {
					nodes = append(nodes, m)
				}
			}
			for _, m := range nodes {
				if h.disturbsOn(&b, set, m, h.s.Task(t).Priority, len(nodes) == 1) {
					if m != n {
						h.disturbing++
					}
					return true
				}
			}
		}
	}
	return false
}

// disturbsOn reports whether one target more in the set would keep somebody off for whom a place is kept on the node.
func (h *history) disturbsOn(b *Bound, set string, n NodeID, priority int32, alone bool) bool {
	for _, other := range h.s.TasksOn(n) {
		task := h.s.Task(other)
		subject, counts := b.Affects(h.s.Shape(task.Shape).Tags)
		if !subject || task.Phase != Reserved || task.Priority < priority && h.s.Classes()[task.Class].Availability == 0 {
			continue
		}
		meets := h.count(b, set, int(other), settled)
		if !b.OverFewest { // who leaves another node of the set counts until it is gone
			meets = max(meets, h.count(b, set, int(other), present)-h.leavingFrom(b, n))
		}
		if counts && b.SelfCounted {
			meets++
		}
		most := b.Max
		if b.OverFewest {
			most += h.fewest(b)
		}
		if meets <= most && (meets+1 > most || alone && meets+1 > b.Max) { // the fewest may fall
			return true
		}
	}
	return false
}

// leavingFrom is how many targets leave the node.
func (h *history) leavingFrom(b *Bound, n NodeID) (leaving int32) {
	for _, t := range h.s.TasksOn(n) {
		task := h.s.Task(t)
		if _, counts := b.Affects(h.s.Shape(task.Shape).Tags); counts && task.Phase == Leaving && task.Node == n && task.Next != n {
			leaving++
		}
	}
	return leaving
}

// lets reports whether the bound lets a task come to the node, which it is one to count.
func (h *history) lets(b *Bound, target bool, t TaskID, n NodeID, when tense) bool {
	set, own := h.setName(n, b.Group), int32(0)
	if target && b.SelfCounted {
		own = 1
	}
	others := h.count(b, set, int(t), when)
	if !b.OverFewest {
		anywhere, first := map[string]bool{}, b.OrFirst && target && set != ""
		for i := range h.s.NodeRows() {
			if h.s.NodeLive(NodeID(i)) {
				anywhere[h.setName(NodeID(i), b.Group)] = true
			}
		}
		for set := range anywhere {
			first = first && h.count(b, set, int(t), when) == 0
		}
		return others+own <= b.Max && (others+own >= b.Min || first)
	}
	return when == present || set != "" && others+own <= h.fewest(b)+b.Max
}

// compareWorse compares what was predicted, and what is seen afterwards.
func (h *history) compareWorse(leaves bool, refusal Refusal, noted []Violation, before map[ConstraintID][tenses]int64) error {
	worse := false
	for c, now := range h.hard(leaves) {
		worse = worse || now[present] > before[c][present] || now[settled] > before[c][settled]
	}
	h.violates[worse]++
	if (refusal.Code == Violates) != worse {
		return fmt.Errorf("predicted is %s, and that it makes constraints worse is %v", refusal.Code, worse)
	}
	if seen := h.s.Worse(noted); (seen.Code == Violates) != worse {
		return fmt.Errorf("what is done is seen to be %s, and that it makes constraints worse is %v", seen.Code, worse)
	}
	return nil
}
