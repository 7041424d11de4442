package report

// The points of a Curve: another for each half per cent of the samples, and, in
// the slowest half per cent, whenever a fifth of those left has gone by. That is
// at most some 300 points, however many samples there are.
const (
	leastRise = 0.005
	leastFall = 0.8
)

// Curve returns the cumulative distribution of what was counted, from its
// smallest value to the largest. Values stand at the upper ends of buckets, at
// most 0.8 % above the samples, so that each point is true: so many samples do
// not exceed it. It returns nil when h is empty.
func (h *Histogram) Curve() Curve {
	var curve Curve
	below, kept := 0, 0.0
	for b, n := range h.buckets {
		if n == 0 {
			continue
		}
		below += n
		share := float64(below) / float64(h.count)
		tail := 1-share <= float64(leastFall*(1-kept)) && 1-share < leastRise
		if len(curve) > 0 && share-kept < leastRise && !tail && below < h.count {
			continue
		}
		kept = share
		_, end := rangeOf(b)
		curve = append(curve, [2]Number{Seconds(min(end, h.max)), Number(share)})
	}
	return curve
}
