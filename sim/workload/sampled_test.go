package workload

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// TestSampled reads a sample as a simulation does: hosts first, then the requests of its
// users, all of them, in whole seconds; a smaller cluster has the same requests.
func TestSampled(t *testing.T) {
	g := Default()
	g.Nodes, g.Length = 200, cluster.Hour
	users, err := UsersOf(g)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Sample(g, users, PublishedSample(2))
	if err != nil {
		t.Fatal(err)
	}
	for _, share := range []float64{1, 0.8} {
		src, err := s.Open(share)
		if err != nil {
			t.Fatal(err)
		}
		if src.End() != g.Length {
			t.Errorf("it ends at %v, want %v", src.End(), g.Length)
		}
		hosts, requests := 0, 0
		for r := (trace.Record{}); ; {
			if err := src.Next(&r); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			switch task := &r.Task; {
			case r.What == trace.NodeAdded && requests == 0:
				hosts++
			case r.What != trace.TaskSubmitted || !slices.Contains(s.Users, task.User):
				t.Fatalf("%v of %q after %d hosts and %d requests", r.What, task.User, hosts, requests)
			default:
				requests++
				if r.Time%cluster.Second != 0 || task.Work != cluster.Never && (task.Work%cluster.Second != 0 || task.Work <= 0) {
					t.Fatalf("a request at %v takes %v, want whole seconds", r.Time, task.Work)
				}
			}
		}
		if hosts != len(s.Fleet.Part(share)) || requests != s.Requests || requests < 100 {
			t.Errorf("%g: %d hosts and %d requests, want %d and %d", share, hosts, requests, len(s.Fleet.Part(share)), s.Requests)
		}
	}
}

// TestUsersOfEndless refuses a workload that users are never known of.
func TestUsersOfEndless(t *testing.T) {
	for _, length := range []cluster.Time{0, cluster.Never} {
		g := Default()
		g.Length = length
		if _, err := UsersOf(g); err == nil || !strings.Contains(err.Error(), "Length") {
			t.Errorf("%v: %v", length, err)
		}
	}
}
