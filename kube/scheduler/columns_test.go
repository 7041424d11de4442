package scheduler

import (
	"fmt"
	"os"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/policies/chosen"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
)

// One node that offers any number of resources keeps no leader from starting, and
// columns that change hands leave a recording that replays as it ran.
func TestRecordingOfReusedColumns(t *testing.T) {
	s := idle(t)
	node := bigNode(1)
	for i := range 1000 {
		node.Status.Allocatable[v1.ResourceName(fmt.Sprintf("example.com/r%03d", i))] = resource.MustParse("50")
	}
	s.world.SeeNode(node)
	dir := t.TempDir()
	s.Config.Record.Path = dir
	if err := s.restart(atStart); err != nil {
		t.Fatalf("the leader cannot start: %v", err)
	}
	if left := len(s.tally.leftOut); left == 0 {
		t.Error("nothing is reported to be left out")
	}
	const turns = 60
	placed := 0
	for i := range turns {
		p := plainPod(i)
		p.OwnerReferences = nil
		c := &p.Spec.Containers[0]
		c.Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: int32(8000 + i)}}
		if i%3 == 0 {
			c.Resources.Requests[v1.ResourceName(fmt.Sprintf("example.com/r%03d", 999-i))] = resource.MustParse("30")
		}
		twin := p.DeepCopy() // which finds no second place where it asks for the resource
		twin.Name, twin.UID = p.Name+"-twin", p.UID+"-twin"
		s.world.SeePod(p)
		s.world.SeePod(twin)
		placed += s.decideOffline(t)
		s.world.LosePod(p)
		s.world.LosePod(twin)
		s.decideOffline(t)
	}
	if cause := s.world.Columns().Stale(); cause != "" {
		t.Errorf("a new core is needed: %s", cause)
	}
	if placed != 2*turns-turns/3 {
		t.Errorf("placed %d pods, want %d", placed, 2*turns-turns/3)
	}
	s.epochs.tape.end(t.Context())
	files, err := recording.Files(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	in, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	result, err := recording.Replay(in, files[0], func(l recording.Lane) (sched.Policy, error) {
		return chosen.Make(policies.All(), &l, policies.Options{})
	})
	if err != nil || result.Difference != nil || result.Wrong > 0 || result.Placements != placed {
		t.Errorf("replayed %d placements of %d, %d events made no sense, difference %v, error %v", result.Placements, placed, result.Wrong, result.Difference, err)
	}
	for _, k := range s.world.Columns().Kinds() {
		if strings.HasPrefix(k.Name, "host port") {
			t.Errorf("the recording calls a column %s, which may be another's by now", k.Name)
		}
	}
}
