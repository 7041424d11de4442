package constraint

import (
	"fmt"
	"slices"

	"fairlead.dev/fairlead/cluster"
)

// This file says whether an assignment may be carried out at all: room, devices, who may be
// where, applications whole, and hard constraints.

// Check says why the assignment cannot be carried out; nil if it can.
func Check(p *Problem, a Assignment) error {
	if len(a) != len(p.Containers) {
		return fmt.Errorf("an assignment of %d containers for a problem of %d", len(a), len(p.Containers))
	}
	for i := range a {
		if err := p.checkContainer(i, a); err != nil {
			return fmt.Errorf("container %d of %s: %w", i, p.Applications[p.Shapes[p.Containers[i].Shape].Application].Name, err)
		}
	}
	for i := range p.Applications {
		app := &p.Applications[i]
		on := 0
		for _, node := range a[app.First:app.End] {
			if node != Nowhere {
				on++
			}
		}
		if !app.Deployed && on != 0 && on != int(app.End-app.First) {
			return fmt.Errorf("application %s: %d of %d containers are placed, want all or none", app.Name, on, app.End-app.First)
		}
	}
	if err := p.checkRoom(a); err != nil {
		return err
	}
	return p.checkHard(a)
}

// checkContainer checks what concerns one container alone, and who else of its application
// is on its node.
func (p *Problem) checkContainer(i int, a Assignment) error {
	c, node := &p.Containers[i], a[i]
	shape := &p.Shapes[c.Shape]
	switch {
	case node < Nowhere || int(node) >= len(p.Nodes):
		return fmt.Errorf("is on node row %d of %d", node, len(p.Nodes))
	case c.Fixed && node != c.At:
		return fmt.Errorf("is fixed to node row %d, and on %d", c.At, node)
	case c.At != Nowhere && node == Nowhere:
		return fmt.Errorf("runs on node row %d, and is taken off", c.At)
	case node == Nowhere || node == c.At:
		return nil // what is there may stay, whatever may have changed
	case shape.Eligible != nil && !shape.Eligible[node]:
		return fmt.Errorf("is on node %s, which it may not use", p.Nodes[node].Name)
	}
	app := &p.Applications[shape.Application]
	most, beside := shape.PerNode, int32(0)
	for other := app.First; other < app.End; other++ {
		if a[other] != node {
			continue
		}
		beside++
		if limit := p.Shapes[p.Containers[other].Shape].PerNode; limit != 0 && (most == 0 || limit < most) {
			most = limit
		}
	}
	if most != 0 && beside > most {
		return fmt.Errorf("is one of %d of its application on node %s, which may hold %d", beside, p.Nodes[node].Name, most)
	}
	return nil
}

// checkRoom checks that every node that somebody comes to has the room.
func (p *Problem) checkRoom(a Assignment) error {
	comes, devices := p.moves(a)
	for n, left := range p.left(a) {
		if len(comes[n]) == 0 {
			continue
		}
		for k, q := range left {
			if q < 0 && slices.ContainsFunc(comes[n], func(i int32) bool { return p.Shapes[p.Containers[i].Shape].Demand[k] > 0 }) {
				return fmt.Errorf("node %s: %s %s more than it has", p.Nodes[n].Name, p.Kinds[k].Format(-q), p.Kinds[k].Name)
			}
		}
		if !p.devicesHold(comes[n], devices[n]) {
			return fmt.Errorf("node %s: its devices cannot hold the %d containers that come", p.Nodes[n].Name, len(comes[n]))
		}
	}
	return nil
}

// moves says who comes to each node, and what its devices have left once those have left
// who leave it.
func (p *Problem) moves(a Assignment) (comes [][]int32, devices [][]int64) {
	comes, devices = make([][]int32, len(p.Nodes)), make([][]int64, len(p.Nodes))
	for n := range p.Nodes {
		devices[n] = slices.Clone(p.Nodes[n].Devices)
	}
	for i, node := range a {
		c := &p.Containers[i]
		if node == c.At {
			continue
		}
		if node != Nowhere {
			comes[node] = append(comes[node], int32(i))
		}
		if c.At == Nowhere {
			continue
		}
		p.Shapes[c.Shape].Needs.Give(devices[c.At], c.Devices, 1)
	}
	return comes, devices
}

// mostTries is after how many choices of devices devicesHold takes it that there is no
// way.
const mostTries = 100_000

// devicesHold reports whether the devices can hold the containers, the largest first, by
// trying.
func (p *Problem) devicesHold(comes []int32, devices []int64) bool {
	var needs []cluster.DeviceNeed
	for _, i := range comes {
		needs = append(needs, p.Shapes[p.Containers[i].Shape].Needs...)
	}
	slices.SortFunc(needs, func(a, b cluster.DeviceNeed) int {
		return int(max(min(b.Share-a.Share, 1), -1))*2 + max(min(b.Count-a.Count, 1), -1)
	})
	tries := mostTries
	return fill(needs, 0, 0, devices, &tries)
}

// fill gives the first need so many more devices from one on, and then the others theirs.
func fill(needs []cluster.DeviceNeed, has, from int, devices []int64, tries *int) bool {
	if len(needs) == 0 {
		return true
	}
	if has == needs[0].Count {
		return fill(needs[1:], 0, 0, devices, tries)
	}
	for d := from; d < len(devices); d++ {
		if devices[d] < needs[0].Share || !needs[0].Places.Has(d) {
			continue
		}
		if *tries--; *tries < 0 {
			return false
		}
		devices[d] -= needs[0].Share
		if fill(needs, has+1, d+1, devices, tries) {
			return true
		}
		devices[d] += needs[0].Share
	}
	return false
}

// checkHard checks that no hard constraint is violated by more than it was.
func (p *Problem) checkHard(a Assignment) error {
	if !slices.ContainsFunc(p.Constraints, func(c cluster.Constraint) bool { return c.Hard }) {
		return nil
	}
	before, after := Evaluate(p, p.Start()), Evaluate(p, a)
	for i := range p.Constraints {
		had, has := before.Verdicts[i].Violations, after.Verdicts[i].Violations
		if p.Constraints[i].Hard && has > had {
			return fmt.Errorf("constraint %s is hard, and violated %d times where it was %d times", p.Constraints[i].Name, has, had)
		}
	}
	return nil
}
