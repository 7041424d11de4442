package azure2017

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/stream"
)

// The tests in this file read the real trace.

func dataFolder(t *testing.T) string {
	t.Helper()
	data := os.Getenv("FAIRLEAD_DATA")
	if data == "" {
		t.Skip("FAIRLEAD_DATA is not set: it names the folder that holds azure2017")
	}
	return filepath.Join(data, "azure2017")
}

// There are as many VMs as published, and at the end of the 30 days there are as many cores in use as the
// default nodes hold at nine tenths.
func TestDataWhole(t *testing.T) {
	o := Default()
	o.TasksOnly = true
	s, err := Open(dataFolder(t), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // it was only read
	var parts [3]int
	used := make([]int64, s.End()/cluster.Hour+2) // cores by hour, first as changes
	var r trace.Record
	for err = s.Next(&r); err == nil; err = s.Next(&r) {
		part := 0
		for _, begins := range []cluster.Time{1_800_000, 2_100_000} {
			if r.Time >= begins*cluster.Second {
				part++
			}
		}
		parts[part]++
		used[r.Time/cluster.Hour] += r.Task.Demand[0]
		if r.Task.Work < s.End()-r.Time {
			used[(r.Time+r.Task.Work)/cluster.Hour+1] -= r.Task.Demand[0]
		}
	}
	if want := [3]int{1_200_998, 259_159, 410_276}; parts != want {
		t.Errorf("%v VMs in the parts, want %v", parts, want)
	}
	var now, most int64
	for _, change := range used {
		now += change
		most = max(most, now)
	}
	if share := float64(most) / float64(int64(o.Nodes)*o.CPU); share < .85 || share > .95 {
		t.Errorf("the peak takes %.3f of the cores of the default nodes", share)
	}
}

// The lives that are drawn for train are those of dev: who lives past an hour, and past a day, by flavour, within
// what a few large batches may do, as those of a batch live alike.
func TestDataDrawnAlike(t *testing.T) {
	dir := dataFolder(t)
	s, err := Open(dir, Options{Part: train, Seed: 1, TasksOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // it was only read
	count, past := map[string]float64{}, map[string][2]float64{}
	ages := [2]cluster.Time{3900 * cluster.Second, 86700 * cluster.Second} // where bins 12 and 35 end
	var r trace.Record
	for err = s.Next(&r); err == nil; err = s.Next(&r) {
		letter := r.Task.Tags[0]
		count[letter]++
		of := past[letter]
		for i, age := range ages {
			if r.Task.Work >= age {
				of[i]++
			}
		}
		past[letter] = of
	}
	for f, of := range s.flavours {
		n := count[of.tags[0]]
		if n < 10_000 {
			continue
		}
		for i, bin := range []int{12, 35} {
			want, got := float64(s.lifetimes.of[f][bin])/one, past[of.tags[0]][i]/n
			if math.Abs(got-want) > .02 {
				t.Errorf("%s: %.4f live past %v, want %.4f", of.letter, got, ages[i], want)
			}
		}
	}
}

// What is written as a stream is read again the same.
func TestDataRoundTrip(t *testing.T) {
	if testing.Short() {
		t.Skip("400,000 VMs are many")
	}
	o := Default()
	o.Part = test
	dir := dataFolder(t)
	src, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close() //nolint:errcheck // it was only read
	var text bytes.Buffer
	if err := stream.Copy(&text, src, &trace.Losses{}); err != nil {
		t.Fatal(err)
	}
	back, err := stream.NewReader("t", &text, stream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close() //nolint:errcheck // it was only read
	var want, got trace.Record
	for n := 0; ; n++ {
		wantErr, gotErr := again.Next(&want), back.Next(&got)
		if wantErr != nil || gotErr != nil {
			if n != 410_276+o.Nodes {
				t.Errorf("after %d records: %v and %v", n, wantErr, gotErr)
			}
			return
		}
		if want.Time != got.Time || line(&want) != line(&got) || want.Task.Work != got.Task.Work {
			t.Fatalf("record %d: %s, want %s", n, line(&got), line(&want))
		}
	}
}
