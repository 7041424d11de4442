package scheduler

import (
	"os"
	"reflect"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/policies/chosen"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
)

// TestChosenPolicyDecidesAndIsRecorded: what a profile says of its policy is what decides, and what the header
// of the recording has of it is what a simulated run with the same policy writes; the function by which every
// recording is replayed makes the policy of it.
func TestChosenPolicyDecidesAndIsRecorded(t *testing.T) {
	dir := t.TempDir()
	policy := chosen.Policy{
		Name: "cpu-mem", Options: policies.Settings{"solver": "cost-scaling"},
		Heartbeat: new(chosen.Time(20 * cluster.Second)), Watchdog: new(chosen.Time(cluster.Minute)),
	}
	inBubble(t, []runtime.Object{bigNode(0)}, func(b *bubble) {
		b.Config.Record.Path = dir
		b.Config.Profiles[0].Policy, b.Config.Profiles[0].Seed = policy, 7
		b.run()
		b.pass(time.Second)
		b.create(plainPod(1))
		b.pass(5 * time.Second)
		b.expectBound("")
		b.pass(20 * time.Second) // a multiple of the heartbeat has come
		b.expectBound("pod-1")
	})
	result := expectReplay(t, dir, 1)
	want, err := policy.Lane(policies.All(), 7, nil)
	want.Name, want.User = "fairlead", "fairlead" // whose pods the lane has
	if got := result.Header.Lanes; err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("recorded %+v, %v\nwant %+v", got, err, want)
	}
}

// onlyRecording is the one recording in the folder, until the test ends.
func onlyRecording(t *testing.T, dir string) *os.File {
	t.Helper()
	files, err := recording.Files(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	in, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close() })
	return in
}

// expectReplay fails unless the one recording in the folder replays as it ran, with so many placements.
func expectReplay(t *testing.T, dir string, placements int) recording.Result {
	t.Helper()
	in := onlyRecording(t, dir)
	result, err := recording.Replay(in, in.Name(), func(l recording.Lane) (sched.Policy, error) {
		return chosen.Make(policies.All(), &l, policies.Options{})
	})
	if err != nil || result.Difference != nil || result.Wrong > 0 || result.Placements != placements {
		t.Errorf("replayed %d placements, %d events made no sense, difference %v, error %v", result.Placements, result.Wrong, result.Difference, err)
	}
	return result
}
