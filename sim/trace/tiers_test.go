package trace_test

import (
	"errors"
	"io"
	"slices"
	"testing"

	"fairlead.dev/fairlead/sim/trace"
)

// records is a source of records.
type records struct {
	trace.Source
	list []trace.Record
}

func (s *records) Next(r *trace.Record) error {
	if len(s.list) == 0 {
		return io.EOF
	}
	*r, s.list = s.list[0], s.list[1:]
	return nil
}

// TestTiers: nodes take turns in the order in which they join, and keep what they have.
func TestTiers(t *testing.T) {
	src := &records{}
	add := func(what trace.What, id uint64, tier int32) {
		src.list = append(src.list, trace.Record{What: what, Node: trace.Node{ID: id, Tier: tier}})
	}
	for id := range uint64(3) {
		add(trace.NodeAdded, id, 0)
	}
	add(trace.NodeAdded, 99, 1) // has one of its own
	for id := range uint64(5) {
		add(trace.NodeAdded, id+3, 0)
	}
	add(trace.NodeLost, 2, 0)
	add(trace.NodeAdded, 2, 0)
	add(trace.NodeChanged, 0, 0)
	add(trace.NodeUsed, 1, 0)
	src.list = append(src.list, trace.Record{What: trace.TaskSubmitted})
	tiered := trace.Tiers(src, []int{2, 0, 1})
	var got []int32
	for {
		var r trace.Record
		if err := tiered.Next(&r); err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			break
		}
		got = append(got, r.Node.Tier)
	}
	want := []int32{3, 3, 1, 1, 3, 3, 1, 3, 3, 0, 1, 3, 0, 0}
	if !slices.Equal(got, want) {
		t.Errorf("tiers %v, want %v", got, want)
	}
}
