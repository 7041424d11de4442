package scheduler

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/prometheus/client_golang/prometheus"

	"fairlead.dev/fairlead/kube/metrics"
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
		now, _ := s.decideOffline(t)
		placed += now
		s.world.LosePod(p)
		s.world.LosePod(twin)
		s.decideOffline(t)
	}
	if cause := s.world.Stale(); cause != "" {
		t.Errorf("a new core is needed: %s", cause)
	}
	if placed != 2*turns-turns/3 {
		t.Errorf("placed %d pods, want %d", placed, 2*turns-turns/3)
	}
	s.epochs.tape.end(t.Context())
	expectReplay(t, dir, placed)
	for _, k := range s.world.Columns().Kinds() {
		if strings.HasPrefix(k.Name, "host port") {
			t.Errorf("the recording calls a column %s, which may be another's by now", k.Name)
		}
	}
}

// A node that offers more devices than are used is logged once, however often the loop turns and
// cores begin, and counts as long as it does.
func TestExcessOfDevicesIsLogged(t *testing.T) {
	s := idle(t)
	s.explainer.stop(s)
	b := &bubble{Scheduler: s, t: t, registry: prometheus.NewRegistry()}
	s.Config.Devices, s.Metrics = []string{"nvidia.com/gpu", "example.com/nic"}, metrics.New(b.registry)
	s.assemble()
	var log bytes.Buffer
	defer klog.CaptureState().Restore()
	klog.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
	node := func(i int, nics string) *v1.Node {
		n := bigNode(i)
		n.Status.Allocatable["example.com/nic"] = resource.MustParse(nics)
		return n
	}
	begin := func() {
		if err := s.restart(atStart); err != nil {
			t.Fatal(err)
		}
	}
	s.world.SeeNode(node(0, "40"))
	begin()
	const said = `"nodes offer more devices than are used: of all resources that come in devices a node may have 64 together, in equal shares" ` +
		`leftOut=1 first=["node-0 offers 40 of example.com/nic, of which 32 are used"]`
	if !strings.Contains(log.String(), said) {
		t.Errorf("at the start the log says %q, want %q", log.String(), said)
	}
	for _, happens := range []struct {
		what   string
		change func()
		want   string // in the log
		counts float64
	}{
		{"nothing", func() {}, "", 1},
		{"a new core", begin, "", 1},
		{"a node with as many as are used", func() { s.world.SeeNode(node(1, "32")) }, "", 1},
		{"another node", func() { s.world.SeeNode(node(2, "33")) }, `leftOut=1 first=["node-2 offers 33 of example.com/nic, of which 32 are used"]`, 2},
		{"the first node leaves", func() { s.world.LoseNode("node-0") }, "", 1},
	} {
		log.Reset()
		happens.change()
		s.tally.at = s.now() - countEvery
		if _, err := s.turn(t.Context()); err != nil {
			t.Fatal(err)
		}
		lines := strings.Count(log.String(), "more devices")
		if !strings.Contains(log.String(), happens.want) || (lines == 1) != (happens.want != "") || lines > 1 {
			t.Errorf("after %s the log says %q, want %q", happens.what, log.String(), happens.want)
		}
		if got := b.sum("fairlead_kinds_left_out", "devices"); got != happens.counts {
			t.Errorf("after %s the metric is %v, want %v", happens.what, got, happens.counts)
		}
	}
}
