package trace

import (
	"cmp"
	"iter"
	"slices"
	"strconv"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/fragmentation"
)

// TypicalOf returns the most frequent shapes of the tasks, until they cover this
// per cent of them; the shape with which they do is the last. The most frequent
// comes first, and of equals the one seen first. Of the demand only cpu counts,
// and what comes in devices: fragmentation of devices is what the shapes are for
// (Weng et al., ATC'23), and they would be too many with memory.
func TypicalOf(kinds []cluster.Kind, tasks iter.Seq[Task], percent int) []fragmentation.Typical {
	var shapes []fragmentation.Typical
	at := map[string]int{}
	total := 0
	var key []byte
	for t := range tasks {
		total++
		key = key[:0]
		for k, kind := range kinds {
			if counts(kind) {
				key = append(strconv.AppendInt(key, t.Demand[k], 36), ' ')
			}
		}
		for _, r := range t.Requirements {
			key = append(append(key, r.String()...), 0)
		}
		i, seen := at[string(key)]
		if !seen {
			i = len(shapes)
			at[string(key)] = i
			shapes = append(shapes, fragmentation.Typical{Demand: demandThatCounts(kinds, t.Demand), Requirements: slices.Clone(t.Requirements)})
		}
		shapes[i].Tasks++
	}
	slices.SortStableFunc(shapes, func(a, b fragmentation.Typical) int { return cmp.Compare(b.Tasks, a.Tasks) })
	covered := 0
	for i := range shapes {
		covered += shapes[i].Tasks
		if covered*100 >= total*percent {
			return shapes[:i+1]
		}
	}
	return shapes
}

// counts reports whether typical shapes differ by their demand of that kind.
func counts(k cluster.Kind) bool { return k.Devices || k.Name == "cpu" }

func demandThatCounts(kinds []cluster.Kind, demand cluster.Vector) cluster.Vector {
	v := make(cluster.Vector, len(kinds))
	for k, kind := range kinds {
		if counts(kind) {
			v[k] = demand[k]
		}
	}
	return v
}
