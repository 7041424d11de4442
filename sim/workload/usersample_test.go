package workload

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// taskRecords is a source of records that are held in memory, of cpu in thousandths and memory.
type taskRecords []trace.Record

func (o *taskRecords) Kinds() []cluster.Kind {
	return []cluster.Kind{{Name: "cpu", Unit: "cores", PerUnit: 1000}, {Name: "memory", Unit: "GiB", PerUnit: 10}}
}
func (o *taskRecords) Close() error { return nil }
func (o *taskRecords) Next(r *trace.Record) error {
	if len(*o) == 0 {
		return io.EOF
	}
	*r, *o = (*o)[0], (*o)[1:]
	return nil
}

// drawTasks makes tasks of a few users, some of which never end, with a kill and news of
// nodes among them.
func drawTasks(t *rapid.T) taskRecords {
	records := taskRecords{
		{What: trace.NodeAdded, Node: trace.Node{ID: 1, Capacity: cluster.Vector{4000, 80}}},
		{What: trace.NodeAdded, Node: trace.Node{ID: 2, Capacity: cluster.Vector{2000, 10}}},
	}
	at := cluster.Time(0)
	for i := range rapid.IntRange(1, 40).Draw(t, "tasks") {
		at += cluster.Time(rapid.IntRange(0, 2).Draw(t, "gap")) * cluster.Minute
		work := cluster.Time(rapid.IntRange(0, 9).Draw(t, "work")) * cluster.Minute
		if rapid.IntRange(0, 9).Draw(t, "endless") == 0 {
			work = cluster.Never
		}
		records = append(records, trace.Record{Time: at, What: trace.TaskSubmitted, Task: trace.Task{
			Job: uint64(i + 1), User: rapid.SampledFrom([]string{"ann", "bob", "cid"}).Draw(t, "user"), Work: work,
			Demand: cluster.Vector{int64(rapid.IntRange(0, 3).Draw(t, "cpu")) * 500, int64(rapid.IntRange(0, 9).Draw(t, "memory"))},
		}})
		if i%7 == 3 {
			records = append(records,
				trace.Record{Time: at, What: trace.NodeLost, Node: trace.Node{ID: 1}},
				trace.Record{Time: at, What: trace.TaskKilled, Task: trace.Task{Job: uint64(i + 1)}})
		}
	}
	return records
}

// variance is computed from all values at once.
func variance(values []float64) float64 {
	mean, sum := 0.0, 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		sum += (v - mean) * (v - mean) / float64(len(values))
	}
	return sum
}

// TestUsers holds what is gathered in passing against what is computed from all tasks.
func TestUsers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records, until := drawTasks(t), 30*cluster.Minute
		values, count := map[string][3][]float64{}, map[string]int{}
		for _, r := range records {
			if r.What != trace.TaskSubmitted || r.Time > until {
				continue
			}
			v := values[r.Task.User]
			v[0] = append(v[0], float64(r.Task.Demand[0]))
			v[1] = append(v[1], 100*float64(r.Task.Demand[1]))
			v[2] = append(v[2], float64(min(r.Task.Work, until-r.Time))/float64(cluster.Minute))
			values[r.Task.User] = v
			count[r.Task.User]++
		}
		users, err := Users(&records, until)
		if err != nil {
			t.Fatal(err)
		}
		if len(users) != len(count) || !slices.IsSortedFunc(users, func(a, b User) int { return cmp.Compare(a.Name, b.Name) }) {
			t.Fatalf("%d users, want %d in order: %v", len(users), len(count), users)
		}
		for _, u := range users {
			v := values[u.Name]
			got := []float64{u.Demand[0], u.Demand[1], u.Duration}
			for i := range got {
				if want := variance(v[i]); math.Abs(got[i]-want) > 1e-6*(1+want) {
					t.Fatalf("%s: variance %d is %v, want %v", u.Name, i, got[i], want)
				}
			}
			if u.Requests != count[u.Name] {
				t.Fatalf("%s has %d requests, want %d", u.Name, u.Requests, count[u.Name])
			}
		}
	})
}

// TestShareOfUsers takes of each group its share, rounded up, and the same for the same
// seed.
func TestShareOfUsers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var users []User
		for i := range rapid.IntRange(0, 60).Draw(t, "users") {
			users = append(users, User{
				Name: fmt.Sprintf("u%02d", i), Requests: rapid.IntRange(1, 1000).Draw(t, "requests"),
				Demand:   []float64{rapid.Float64Range(0, 1e6).Draw(t, "cpu"), rapid.Float64Range(0, 10).Draw(t, "memory")},
				Duration: rapid.Float64Range(0, 1e9).Draw(t, "duration"),
			})
		}
		s := UserSample{Groups: rapid.IntRange(1, 6).Draw(t, "groups"), Share: float64(rapid.IntRange(0, 10).Draw(t, "share")) / 10, Seed: rapid.Uint64().Draw(t, "seed")}
		chosen := s.Choose(users)
		if !slices.Equal(chosen, s.Choose(users)) || !slices.IsSorted(chosen) || len(slices.Compact(slices.Clone(chosen))) != len(chosen) {
			t.Fatalf("not the same users, or not in order, or one twice: %v", chosen)
		}
		taken, all := make([]int, s.Groups), make([]int, s.Groups)
		for i, g := range GroupUsers(users, s.Groups) {
			all[g]++
			if slices.Contains(chosen, users[i].Name) {
				taken[g]++
			}
		}
		tenths := int(math.Round(10 * s.Share))
		for g := range all {
			if want := (all[g]*tenths + 9) / 10; taken[g] != want {
				t.Fatalf("%d of group %d, want %d of %d", taken[g], g, want, all[g])
			}
		}
	})
}

// TestGroupsOfUsers knows users apart by each of the four features alone.
func TestGroupsOfUsers(t *testing.T) {
	const each = 8
	var users []User
	for i := range 5 * each {
		u := User{Requests: 10 + i/5, Demand: []float64{4, 4}, Duration: 4}
		switch i % 5 {
		case 1:
			u.Requests *= 1000
		case 2:
			u.Demand[0] *= 1000
		case 3:
			u.Demand[1] *= 1000
		case 4:
			u.Duration *= 1000
		}
		users = append(users, u)
	}
	for i, g := range GroupUsers(users, 5) {
		if g != i%5 {
			t.Fatalf("user %d is in group %d, want %d", i, g, i%5)
		}
	}
}

// TestOctaves follows the logarithm, and never falls.
func TestOctaves(t *testing.T) {
	last := -1.0
	for v := 0.0; v < 1e6; v = v*1.07 + 0.01 {
		got := octaves(v)
		if math.Abs(got-math.Log2(1+v)) > 0.09 || got <= last {
			t.Fatalf("octaves(%v) = %v after %v; the logarithm is %v", v, got, last, math.Log2(1+v))
		}
		last = got
	}
}

// TestOfUsers lets all of the chosen users' tasks pass, none of others', and what is said
// of nodes.
func TestOfUsers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := drawTasks(t)
		var want taskRecords
		for _, r := range all {
			if r.What != trace.TaskSubmitted || r.Task.User == "ann" || r.Task.User == "cid" {
				want = append(want, r)
			}
		}
		src, r := OfUsers(&all, []string{"ann", "cid"}), trace.Record{}
		for i := range want {
			if err := src.Next(&r); err != nil || r.What != want[i].What || r.Task.Job != want[i].Task.Job || r.Node.ID != want[i].Node.ID {
				t.Fatalf("record %d is %v (%v), want %v", i, r, err, want[i])
			}
		}
		if err := src.Next(&r); err != io.EOF { //nolint:errorlint // as sources return it
			t.Fatalf("more came: %v, %v", r, err)
		}
	})
}

// TestSamplesOfGoogle wants of the generator what the study rests on: a sample has a tenth
// of the users, another seed has others, and all tasks of theirs come again in a second
// pass.
func TestSamplesOfGoogle(t *testing.T) {
	g := Default()
	g.Nodes, g.Length = 300, 2*cluster.Hour
	open := func() trace.Source {
		src, err := New(g)
		if err != nil {
			t.Fatal(err)
		}
		return src
	}
	users, err := Users(open(), g.Length)
	if err != nil {
		t.Fatal(err)
	}
	first, second := PublishedSample(1).Choose(users), PublishedSample(2).Choose(users)
	if n := float64(len(first)) / float64(len(users)); n < 0.1 || n > 0.1+6/float64(len(users)) {
		t.Errorf("%d of %d users, want a tenth and no more than one user more a group", len(first), len(users))
	}
	if slices.Equal(first, second) {
		t.Error("two seeds chose the same users")
	}
	want := 0
	for _, u := range users {
		if slices.Contains(first, u.Name) {
			want += u.Requests
		}
	}
	again, err := Users(OfUsers(open(), first), g.Length)
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	for _, u := range again {
		got += u.Requests
	}
	if len(again) != len(first) || got != want || want == 0 {
		t.Errorf("in the second pass %d users with %d requests, want %d and %d", len(again), got, len(first), want)
	}
}
