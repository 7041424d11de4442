package sim

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim/trace"
)

// unpacked is the inverse of packed.
func unpacked(t *testing.T, text string) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// picture is how full each node is, counted with fractions.
func (d *diary) picture(s *simulation) []byte {
	state := s.planner.view()
	var p []byte
	for i := range s.nodes.list {
		n := cluster.NodeID(i)
		if !state.NodeLive(n) {
			p = append(p, 0)
			continue
		}
		most := new(big.Rat)
		for k := range d.kinds {
			if share := big.NewRat(state.Used(n)[k], state.Capacity(n)[k]); share.Cmp(most) > 0 {
				most = share
			}
		}
		scaled := new(big.Rat).Mul(most, big.NewRat(200, 1))
		whole := new(big.Int).Quo(scaled.Num(), scaled.Denom())
		p = append(p, byte(min(1+whole.Int64(), 255)))
	}
	return p
}

// comparePictures fails the test unless the pictures are of moments evenly
// spread, and what the diary says of them.
func comparePictures(t *testing.T, got *report.Heat, d *diary, end cluster.Time) {
	t.Helper()
	fill := unpacked(t, got.Fill)
	if len(fill) != len(got.Times)*got.Nodes {
		t.Fatalf("%d bytes for %d pictures of %d nodes", len(fill), len(got.Times), got.Nodes)
	}
	if n := len(got.Times); n > mostPictures || end >= mostPictures*firstStep && n < mostPictures/2 {
		t.Errorf("%d pictures of %v", n, end)
	}
	every := end
	if len(got.Times) > 1 {
		every = cluster.Time(float64(got.Times[1]) * float64(cluster.Second))
	}
	for i, at := range got.Times {
		moment := cluster.Time(i) * every
		if at != report.Seconds(moment) || moment > end {
			t.Fatalf("picture %d of a run of %v is of %v s, want %v", i, end, at, moment)
		}
		var want []byte
		for _, e := range d.entries {
			if e.from <= moment {
				want = e.picture
			}
		}
		want = append(slices.Clone(want), make([]byte, got.Nodes-len(want))...)
		if p := fill[i*got.Nodes : (i+1)*got.Nodes]; !bytes.Equal(p, want) {
			t.Fatalf("the picture of %v is %v, want %v", moment, p, want)
		}
	}
	if last := cluster.Time(len(got.Times)) * every; last <= end {
		t.Errorf("no picture of %v, and the run ends at %v", last, end)
	}
}

// How many pictures there are, and of which moments, by the length of the run.
func TestPicturesByLength(t *testing.T) {
	state := cluster.NewState(nil, nil)
	for _, c := range []struct {
		length, every cluster.Time
		pictures      int
	}{
		{0, firstStep, 1},
		{firstStep - 1, firstStep, 1},
		{firstStep, firstStep, 2},
		{47 * firstStep, firstStep, 48},
		{48 * firstStep, 2 * firstStep, 25},
		{cluster.Hour, 1024 * firstStep, 36},
		{30 * cluster.Day, 1 << 20 * firstStep, 25},
	} {
		for leap := range 2 {
			h := newHeat(&nodes{})
			for now := cluster.Time(0); leap == 0 && now < c.length; now = min(c.length, now+c.length/7+1) {
				h.until(now, &state.View)
			}
			var r report.Run
			h.result(&span{to: c.length, state: &state.View}, &r)
			if len(r.Heat.Times) != c.pictures || h.every != c.every {
				t.Errorf("%v: %d pictures, every %v; want %d, every %v", c.length, len(r.Heat.Times), h.every, c.pictures, c.every)
			}
		}
	}
}

// A node that is not there yet, one that is empty, a full one, one that holds
// more than it has, and one without a kind.
func TestFill(t *testing.T) {
	for _, c := range []struct {
		used, capacity cluster.Vector
		want           byte
	}{
		{cluster.Vector{0, 0}, cluster.Vector{4, 0}, 1},
		{cluster.Vector{1, 3}, cluster.Vector{4, 4}, 151},
		{cluster.Vector{4, 3}, cluster.Vector{4, 4}, 201},
		{cluster.Vector{5, 0}, cluster.Vector{4, 0}, 251},
		{cluster.Vector{6, 0}, cluster.Vector{4, 0}, 255},
		{cluster.Vector{1 << 60, 0}, cluster.Vector{4, 0}, 255},
		{cluster.Vector{0, 1}, cluster.Vector{4, 0}, 255},
		{cluster.Vector{1<<45 - 1, 0}, cluster.Vector{1 << 45, 1}, 200},
	} {
		if got := fill(c.used, c.capacity); got != c.want {
			t.Errorf("%v of %v is the byte %d, want %d", c.used, c.capacity, got, c.want)
		}
	}
}

// Nodes that join later are missing from earlier pictures, and names take a
// line each.
func TestHeatOfNodesThatJoin(t *testing.T) {
	node := func(at cluster.Time, id uint64, name string) trace.Record {
		return trace.Record{Time: at, What: trace.NodeAdded, Node: trace.Node{ID: id, Name: name, Capacity: cluster.Vector{2}}}
	}
	l := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}, records: []trace.Record{
		node(0, 1, "first"),
		{What: trace.TaskSubmitted, Task: trace.Task{Job: 1, Demand: cluster.Vector{1}, Work: cluster.Hour}},
		node(cluster.Second, 2, "two\nlines"),
	}}
	r, err := Run(Config{Source: l, Lanes: lane(t, "kube"), Planner: Planner{Time: Zero}, Until: 2 * cluster.Second})
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	for i := range 21 {
		second := byte(0)
		if i >= 10 {
			second = 1
		}
		want = append(want, 101, second)
	}
	if got := unpacked(t, r.Heat.Fill); !bytes.Equal(got, want) || r.Heat.Nodes != 2 || len(r.Heat.Times) != 21 {
		t.Errorf("%d pictures of %d nodes: %v, want %v", len(r.Heat.Times), r.Heat.Nodes, got, want)
	}
	if names := string(unpacked(t, r.Heat.Names)); names != "first\ntwo lines" {
		t.Errorf("names %q", names)
	}
	if fmt.Sprint(r.Heat.Times[:3]) != "[0 0.1 0.2]" || strings.ContainsAny(r.Heat.Fill, "\n ") {
		t.Errorf("times %v", r.Heat.Times)
	}
}
