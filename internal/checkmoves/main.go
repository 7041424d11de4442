// Checkmoves replays the moves of fairlead capacity free, drain or level on the dump of which they were asked, and
// says which is the first that is not safe:
//
//	fairlead capacity free --cluster me.json -o json > moves.json
//	go run ./internal/checkmoves me.json moves.json
//
// It is here to be read: it knows what Kubernetes documents of each field, as plain loops over the objects of the dump, and
// shares no code with the planner or with the reader of dumps.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(files []string) int {
	if len(files) != 2 {
		fmt.Fprintln(os.Stderr, "usage: checkmoves DUMP MOVES")
		return 2
	}
	moves, err := check(files[0], files[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "checkmoves:", err)
		return 1
	}
	fmt.Printf("%d moves are safe, one after the other\n", moves)
	return 0
}

func check(dump, moves string) (int, error) {
	text, err := os.ReadFile(dump) //nolint:gosec // who runs it names the file
	if err != nil {
		return 0, err
	}
	objects, err := read(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", dump, err)
	}
	if text, err = os.ReadFile(moves); err != nil { //nolint:gosec // as above
		return 0, err
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		return 0, fmt.Errorf("%s: %w", moves, err)
	}
	return len(a.Moves), newCluster(objects).replay(&a)
}
