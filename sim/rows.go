package sim

import "slices"

// grown is a list by rows that has this one: others before it are like one that is not used. It doubles, as a cluster that is
// read from a file comes row by row: growing by a quarter copies each row five times.
func grown[T any, R ~int32 | ~uint32](list []T, row R, none T) []T {
	for int(row) >= len(list) {
		if len(list) == cap(list) {
			list = slices.Grow(list, max(len(list), 1))
		}
		list = append(list, none)
	}
	return list
}
