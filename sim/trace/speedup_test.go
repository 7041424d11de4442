package trace

import (
	"errors"
	"io"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cluster"
)

// list is a Source of records in memory.
type list struct{ records []Record }

func (l *list) Kinds() []cluster.Kind { return []cluster.Kind{{Name: "cpu"}, {Name: "memory"}} }
func (l *list) Close() error          { return nil }

func (l *list) Next(r *Record) error {
	if len(l.records) == 0 {
		return io.EOF
	}
	*r, l.records = l.records[0], l.records[1:]
	return nil
}

func collect(t *testing.T, src Source) []Record {
	t.Helper()
	var all []Record
	for {
		var r Record
		err := src.Next(&r)
		if errors.Is(err, io.EOF) {
			if again := src.Next(&r); !errors.Is(again, io.EOF) {
				t.Errorf("after the end: %v", again)
			}
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
}

func submitted(at, work cluster.Time) Record {
	return Record{Time: at, What: TaskSubmitted, Task: Task{Work: work, Demand: cluster.Vector{5, 7}}}
}

func TestSpeedup(t *testing.T) {
	for _, tc := range []struct {
		factor    float64
		got, want []Record
	}{
		{1, []Record{submitted(3, 5), submitted(4, 0)}, []Record{submitted(3, 5), submitted(4, 0)}},
		{10, []Record{submitted(0, 104), submitted(96, cluster.Never)}, []Record{submitted(0, 10), submitted(10, cluster.Never)}},
		{300, []Record{submitted(10, 1)}, []Record{submitted(0, 1)}},
		{.5, []Record{submitted(3, 5), submitted(4, cluster.Never-1)}, []Record{submitted(6, 10), submitted(8, cluster.Never)}},
	} {
		if diff := cmp.Diff(tc.want, collect(t, Speedup(&list{tc.got}, tc.factor))); diff != "" {
			t.Errorf("%v times: %s", tc.factor, diff)
		}
	}
	for _, factor := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a speed-up of %v is accepted", factor)
				}
			}()
			Speedup(&list{}, factor)
		}()
	}
}

func TestSlots(t *testing.T) {
	node := Record{What: NodeAdded, Node: Node{ID: 4, Capacity: cluster.Vector{1, 2}}}
	lost := Record{Time: 2, What: NodeLost, Node: Node{ID: 4}}
	used := Record{Time: 2, What: NodeUsed, Node: Node{ID: 4, Usage: cluster.Vector{1, 1}}}
	src := Slots(&list{[]Record{node, submitted(1, 1), used, used, lost}}, 12)
	if diff := cmp.Diff([]cluster.Kind{{Name: "slots", Unit: "slots", PerUnit: 1}}, src.Kinds()); diff != "" {
		t.Error(diff)
	}
	want := []Record{node, submitted(1, 1), lost}
	want[0].Node.Capacity = cluster.Vector{12}
	want[1].Task.Demand = cluster.Vector{1}
	if diff := cmp.Diff(want, collect(t, src)); diff != "" {
		t.Error(diff)
	}
}

func TestLimit(t *testing.T) {
	records := []Record{submitted(1, 1), submitted(2, 1), submitted(2, 2), submitted(3, 1)}
	if diff := cmp.Diff(records[:3], collect(t, Limit(&list{records}, 2))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(records, collect(t, Limit(&list{records}, cluster.Never))); diff != "" {
		t.Error(diff)
	}
}
