package cluster

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestWildRows names rows far beyond what there is. Each event is refused, and no table
// grows by it; a row within reach is made.
func TestWildRows(t *testing.T) {
	kinds := []Kind{{Name: "cpu"}, {Name: "memory"}}
	for table, event := range map[Table]func(row uint32) Event{
		Nodes: func(row uint32) Event { return NodeAdded{NodeID(row), NodeSpec{Capacity: Vector{1, 1}}} },
		Tasks: func(row uint32) Event { return TaskSubmitted{Task: TaskID(row)} },
		Jobs:  func(row uint32) Event { return JobSubmitted{Job: JobID(row)} },
		Shapes: func(row uint32) Event {
			return ShapeDefined{ShapeID(row), Shape{Demand: Vector{1, 1}}}
		},
		Sets:     func(row uint32) Event { return SetDefined{Set: SetID(row)} },
		Guarding: func(row uint32) Event { return BudgetChanged{Budget: BudgetID(row)} },
		Constraints: func(row uint32) Event {
			return ConstraintDefined{ConstraintID(row), Constraint{Name: "c", Hard: true, Any: [][]Bound{{{Target: []string{"a"}, Group: EachNode}}}}}
		},
	} {
		s := NewState(kinds, nil)
		for _, e := range []Event{JobSubmitted{}, ShapeDefined{Spec: Shape{Demand: Vector{1, 1}}}} {
			if err := s.Apply(0, e); err != nil {
				t.Fatal(err)
			}
		}
		limit := uint32(RowsOf(table, len(kinds), s.log.made[table]))
		for _, row := range []uint32{1<<32 - 1, 4_000_000_000, maxRow, maxRow - 1, 1 << 22, limit} {
			taken := allocated(func() {
				err := s.Apply(0, event(row))
				if want := fmt.Sprintf("row %d is too large: %d such rows", row, s.log.made[table]); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("table %d: %v, want …%s…", table, err, want)
				}
			})
			if taken > 1<<20 {
				t.Errorf("table %d, row %d: %d bytes for a row that was refused", table, row, taken)
			}
		}
		if err := s.Apply(0, event(limit-1)); err != nil {
			t.Errorf("table %d: the last row below %d: %v", table, limit, err)
		}
		if err := s.Apply(0, event(limit)); err != nil {
			t.Errorf("table %d: one more after it: %v", table, err)
		}
		if err := s.Check(); err != nil {
			t.Error(err)
		}
	}
}

// TestRowsOf: nodes of many kinds take more, so that fewer of them are spare; and as many
// as were made are never too many.
func TestRowsOf(t *testing.T) {
	for _, kinds := range []int{0, 1, 12, 1000} {
		for table := range Tables {
			for _, made := range []int{0, 1, 12_500, 1_000_000} {
				if rows := RowsOf(table, kinds, made); rows <= made || rows > 1<<18+2*made {
					t.Errorf("table %d, %d kinds, %d made: %d rows", table, kinds, made, rows)
				}
			}
		}
		if spare := RowsOf(Nodes, kinds, 0); spare*max(kinds, 1) > 1<<22 || spare > 1<<17 || spare < 4000 {
			t.Errorf("%d nodes of %d kinds are spare", spare, kinds)
		}
	}
}

// allocated is how many bytes the function takes.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
