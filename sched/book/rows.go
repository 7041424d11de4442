package book

// Grown is a list by rows that has this one: others before it are like one that is not used.
func Grown[T any, R ~int32 | ~uint32](list []T, row R, none T) []T {
	for int(row) >= len(list) {
		list = append(list, none)
	}
	return list
}
