// Package kmeans divides points into groups of points that lie near each other, by
// k-means: the sum of the squared distances of all points from the means of their
// groups is to be small.
//
// Each try begins with centres drawn by k-means++ (Arthur and Vassilvitskii 2007): a
// point becomes the next centre with a chance in proportion to its squared distance from
// the nearest one so far. Then Lloyd's two steps follow each other until nothing moves:
// each point joins the nearest centre, each centre moves to the mean of its points. The
// best of several tries is returned.
//
// The same points in the same order and the same chance give the same groups on every
// machine: sums are taken in the order of the points, products are rounded before they
// are added, and ties go to the first. A step costs points × groups × dimensions.
package kmeans

import (
	"math"
	"math/rand/v2"
)

// mostSteps ends a try in which rounding errors let points go back and forth.
const mostSteps = 1000

// Divide divides the points into at most k groups: the best of so many tries. It returns
// the group of each point, groups being numbered in the order of their first points, and
// the sum of the squared distances. There are fewer than k groups only where fewer points
// differ.
func Divide(points [][]float64, k, tries int, chance *rand.Rand) ([]int, float64) {
	if len(points) == 0 || k < 1 {
		return nil, 0
	}
	var best *division
	for range max(tries, 1) {
		d := begin(points, k, chance)
		d.settle()
		if best == nil || d.cost < best.cost {
			best = d
		}
	}
	return best.numbered(), best.cost
}

// division is one try.
type division struct {
	points  [][]float64
	centres [][]float64
	group   []int     // of each point
	away    []float64 // of each point, the square of its distance from its centre
	cost    float64   // the sum of away
}

// begin draws the centres.
func begin(points [][]float64, k int, chance *rand.Rand) *division {
	d := &division{points: points, group: make([]int, len(points)), away: make([]float64, len(points))}
	d.add(chance.IntN(len(points)))
	for len(d.centres) < k {
		d.assign()
		if d.cost == 0 {
			break // every point is a centre
		}
		d.add(d.draw(chance.Float64()))
	}
	return d
}

// draw returns the first point up to which the squared distances are more than the share
// of their sum.
func (d *division) draw(share float64) int {
	limit, sum, last := float64(share*d.cost), 0.0, 0
	for i, away := range d.away {
		if away == 0 {
			continue // it stands where a centre does
		}
		sum, last = sum+away, i
		if sum > limit {
			break
		}
	}
	return last
}

func (d *division) add(point int) {
	d.centres = append(d.centres, append([]float64(nil), d.points[point]...))
}

// settle lets points and centres move until nothing does.
func (d *division) settle() {
	d.assign()
	for range mostSteps {
		d.move()
		if !d.assign() {
			return
		}
	}
}

// assign lets each point join the nearest centre, and reports whether any changed groups.
func (d *division) assign() (changed bool) {
	d.cost = 0
	for i, p := range d.points {
		nearest, least := 0, math.Inf(1)
		for g, c := range d.centres {
			if away := squared(p, c); away < least {
				nearest, least = g, away
			}
		}
		changed = changed || d.group[i] != nearest
		d.group[i], d.away[i] = nearest, least
		d.cost += least
	}
	return changed
}

// move lets each centre move to the mean of its points. One that has none moves to the
// point that is furthest from its centre.
func (d *division) move() {
	count := make([]int, len(d.centres))
	sums := make([][]float64, len(d.centres))
	for g := range sums {
		sums[g] = make([]float64, len(d.points[0]))
	}
	for i, p := range d.points {
		g := d.group[i]
		count[g]++
		for k, v := range p {
			sums[g][k] += v
		}
	}
	for g, n := range count {
		if n == 0 {
			far := 0
			for i, away := range d.away {
				if away > d.away[far] {
					far = i
				}
			}
			copy(d.centres[g], d.points[far])
			d.away[far] = 0 // another such centre moves elsewhere
			continue
		}
		for k, sum := range sums[g] {
			d.centres[g][k] = sum / float64(n)
		}
	}
}

// squared is the square of the distance between two points.
func squared(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		difference := a[i] - b[i]
		sum += float64(difference * difference)
	}
	return sum
}

// numbered are the groups in the order of their first points.
func (d *division) numbered() []int {
	names := map[int]int{}
	out := make([]int, len(d.group))
	for i, g := range d.group {
		name, known := names[g]
		if !known {
			name = len(names)
			names[g] = name
		}
		out[i] = name
	}
	return out
}
