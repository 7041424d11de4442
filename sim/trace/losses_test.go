package trace

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/cluster"
)

func TestLosses(t *testing.T) {
	task := Record{What: TaskSubmitted, Time: 5 * cluster.Second, Task: Task{Job: 7, Index: 3}}
	node := Record{What: NodeAdded, Node: Node{ID: 9}}
	strict := Losses{}
	for _, c := range []struct {
		record Record
		want   string
	}{
		{task, "task submitted at 5s: task 3 of job 7: the format holds no odd names"},
		{node, "node added at 0s: node 9: the format holds no odd names"},
	} {
		if err := strict.Refuse(&c.record, "odd names"); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	lenient := Losses{Lenient: true}
	for _, what := range []string{"odd names", "kills", "odd names"} {
		if err := lenient.Refuse(&task, what); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]Loss{{"odd names", 2}, {"kills", 1}}, lenient.Counts); diff != "" || strict.Counts != nil {
		t.Error(diff, strict.Counts)
	}
}
