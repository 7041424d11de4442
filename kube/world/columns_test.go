package world

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/cluster"
)

// Columns of needs that nobody has any more are given to others: what matters is
// how many needs there are at once.

func newColumnRig(t *testing.T, node string) *story {
	t.Helper()
	s := newStory(t)
	s.mustHappen(t, "%s", node)
	s.turn()
	s.restarts = 0
	return s
}

func (s *story) mustHappen(t *testing.T, format string, args ...any) {
	t.Helper()
	text := fmt.Sprintf(format, args...)
	if err := s.happen(text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// place does a turn in which all that came is placed and bound.
func (s *story) place(t *testing.T, pods int) {
	t.Helper()
	placed := 0
	for range 2 * pods {
		v := s.turn()
		for _, f := range v.accepted {
			s.arrived(f)
			placed++
		}
		if len(v.accepted) == 0 {
			break
		}
	}
	if placed != pods {
		t.Fatalf("%d pods were placed, want %d", placed, pods)
	}
}

func TestColumnsOfPortsAreReused(t *testing.T) {
	const pods, node = 200, "node n1 cpu=1000 mem=1000Gi pods=1000"
	t.Run("one after another", func(t *testing.T) {
		s := newColumnRig(t, node)
		for i := range pods {
			s.mustHappen(t, "pod p%d port=%d", i, 1000+i)
			s.place(t, 1)
			s.mustHappen(t, "lost p%d", i)
			s.turn()
		}
		if s.restarts != 0 {
			t.Errorf("%d new cores, want none", s.restarts)
		}
	})
	t.Run("one after another, each of an owner", func(t *testing.T) {
		s := newColumnRig(t, node)
		for i := range pods {
			s.mustHappen(t, "pod p%d port=%d owner=web%d", i, 1000+i, i)
			s.place(t, 1)
			s.mustHappen(t, "lost p%d", i)
			s.turn()
		}
		if s.restarts != 0 {
			t.Errorf("%d new cores, want none", s.restarts)
		}
	})
	t.Run("one a turn, and all stay", func(t *testing.T) {
		s := newColumnRig(t, node)
		for i := range pods {
			s.mustHappen(t, "pod p%d port=%d", i, 1000+i)
			s.place(t, 1)
		}
		if s.restarts > 5 { // 8 columns, 18, 38, 78, 158, 318
			t.Errorf("%d new cores, want at most 5", s.restarts)
		}
		for i := range pods { // and then others come in their stead
			s.mustHappen(t, "lost p%d", i)
			s.mustHappen(t, "pod q%d port=%d", i, 5000+i)
			s.place(t, 1)
		}
		if s.restarts > 5 {
			t.Errorf("%d new cores after all ports were exchanged, want at most 5", s.restarts)
		}
	})
	t.Run("at once", func(t *testing.T) {
		s := newColumnRig(t, node)
		for i := range pods {
			s.mustHappen(t, "pod p%d port=%d", i, 1000+i)
		}
		s.place(t, pods)
		if s.restarts > 1 {
			t.Errorf("%d new cores, want at most 1", s.restarts)
		}
	})
}

// More needs than there may be columns: pods that have such a need are placed one
// at a time, and say so; when columns are free again, a new core has some for them.
func TestMoreNeedsThanColumns(t *testing.T) {
	s := newColumnRig(t, "node n1 cpu=1000 mem=1000Gi pods=2000")
	for i := range maxSpare + 20 {
		s.mustHappen(t, "pod p%d port=%d node=n1", i, 1000+i)
	}
	s.turn()
	if s.world.Columns().Refused() != 20 {
		t.Fatalf("%d needs have no column, want 20", s.world.Columns().Refused())
	}
	s.mustHappen(t, "pod late port=5000")
	s.mustHappen(t, "pod taken port=%d", 1000+maxSpare+10)
	before := s.restarts
	v := s.turn()
	if len(v.accepted) != 1 || len(v.unplaced) != 1 || s.restarts != before {
		t.Errorf("placed %d, unplaced %d, new cores %d", len(v.accepted), len(v.unplaced), s.restarts-before)
	}
	if got := s.world.Columns().Uncounted(s.world.Pod("uid-taken")); got != "host port TCP/1522" {
		t.Errorf("the pod lacks a column for %q", got)
	}
	for i := range maxSpare / 2 {
		s.mustHappen(t, "lost p%d", i)
	}
	if v := s.turn(); v.newCore == "" || s.world.Columns().Refused() != 0 {
		t.Errorf("new core: %q; %d needs have no column", v.newCore, s.world.Columns().Refused())
	}
}

// A node may offer any number of resources. Those that pods ask for come first,
// then those that most nodes have, and then the first by name.
func TestMoreResourcesThanColumns(t *testing.T) {
	var ext []string
	for i := range 1000 {
		ext = append(ext, fmt.Sprintf("example.com/r%03d:8", i))
	}
	node := "node n1 ext=(" + strings.Join(ext, ",") + ")"
	s := newColumnRig(t, node)
	s.mustHappen(t, "node n2 ext=(example.com/r500:2,example.com/r997:2)")
	s.mustHappen(t, "pod early ext=example.com/r998:3")
	s.place(t, 1)
	s.restart()
	kinds := s.world.Columns().Kinds()
	if len(kinds) > cluster.MaxKinds || len(kinds) != firstExtended+maxNamed+minSpare {
		t.Errorf("%d kinds", len(kinds))
	}
	var names []string
	for _, k := range kinds[firstExtended : firstExtended+maxNamed] {
		names = append(names, k.Name)
	}
	want := []string{}
	for i := range maxNamed - 3 {
		want = append(want, fmt.Sprintf("example.com/r%03d", i))
	}
	want = append(want, "example.com/r500", "example.com/r997", "example.com/r998")
	if !slices.Equal(names, want) {
		t.Errorf("columns for %v", names)
	}
	if left := s.world.Columns().LeftOut(); len(left) != 1000-maxNamed || left[0] != "example.com/r125" {
		t.Errorf("%d left out, the first is %v", len(left), left[0])
	}
	s.restarts = 0
	s.mustHappen(t, "pod late ext=example.com/r999:5")
	s.mustHappen(t, "pod later ext=example.com/r999:5")
	if v := s.turn(); len(v.accepted) != 1 || s.restarts != 0 || slices.Contains(s.world.Columns().LeftOut(), v1.ResourceName("example.com/r999")) {
		t.Errorf("placed %v with %d new cores", v.accepted, s.restarts)
	}
	later := s.world.Pod(types.UID("uid-later"))
	if text := s.core.Why(later.Task()).Text(s.world.Columns().Meanings()); !strings.Contains(text, "lack example.com/r999 (needs 5, left at most 3)") {
		t.Errorf("the reason is %q", text)
	}
}

// Resources that come in devices have columns whether or not a node offers them. Of a node
// with more than the places of its kind the rest is left alone.
func TestResourcesInDevices(t *testing.T) {
	s := newStory(t)
	s.world.columns.devices = []v1.ResourceName{"nvidia.com/gpu", "example.com/nic"}
	s.policy = "gpu-packing"
	s.restart()
	s.mustHappen(t, "node n1 cpu=8 mem=8Gi pods=100 ext=(nvidia.com/gpu:3,example.com/nic:40)")
	s.mustHappen(t, "node n2 cpu=8 mem=8Gi pods=100 ext=(nvidia.com/gpu:2)")
	s.turn()
	s.restarts = 0
	for i := range 2 {
		s.mustHappen(t, "pod p%d ext=(nvidia.com/gpu:1,example.com/nic:15)", i)
	}
	s.place(t, 2)
	view := s.core.View()
	kinds := view.DeviceKinds()
	if len(kinds) != 2 || s.restarts != 0 {
		t.Fatalf("%d kinds come in devices, %d new cores; want 2 and none", len(kinds), s.restarts)
	}
	for i := range 2 {
		task := view.Task(s.world.Pod(types.UID(fmt.Sprintf("uid-p%d", i))).Task())
		for k, want := range map[string]int{"nvidia.com/gpu": 1, "example.com/nic": 15} {
			for _, of := range kinds {
				if got := (task.Devices & of.Places()).Count(); s.world.Columns().Kinds()[of.Kind].Name == k && got != want {
					t.Errorf("pod %d has %d devices of %s, want %d", i, got, k, want)
				}
			}
		}
	}
	s.mustHappen(t, "pod late ext=(nvidia.com/gpu:1,example.com/nic:3)") // 2 of 32 are left, 10 of 40
	s.turn()
	late := s.world.Pod(types.UID("uid-late"))
	if text := s.core.Why(late.Task()).Text(s.world.Columns().Meanings()); !strings.Contains(text, "1 lack example.com/nic (needs 3, left at most 2), 1 have no example.com/nic; it would fit with 1 more example.com/nic free on n1") {
		t.Errorf("the reason is %q", text)
	}
}

// A node that offers more devices of a resource than a node may have is listed until it offers
// no more, or is gone, also by a core that began later.
func TestExcessOfDevices(t *testing.T) {
	s := newStory(t)
	s.world.columns.devices = []v1.ResourceName{"nvidia.com/gpu", "example.com/nic"}
	s.restart()
	for _, turn := range []struct{ happens, want string }{
		{"node n1 ext=(nvidia.com/gpu:32,example.com/nic:40)", "n1 offers 40 of example.com/nic, of which 32 are used"},
		{
			"node n0 ext=(nvidia.com/gpu:33,example.com/nic:64,example.com/seat:100)",
			"n0 offers 64 of example.com/nic, of which 32 are used; n1 offers 40 of example.com/nic, of which 32 are used; " +
				"n0 offers 33 of nvidia.com/gpu, of which 32 are used",
		},
		{"restart", "n0 offers 64 of example.com/nic, of which 32 are used; n1 offers 40 of example.com/nic, of which 32 are used; " +
			"n0 offers 33 of nvidia.com/gpu, of which 32 are used"},
		{"lost-node n0", "n1 offers 40 of example.com/nic, of which 32 are used"},
		{"node n1 ext=(nvidia.com/gpu:32,example.com/nic:48)", "n1 offers 48 of example.com/nic, of which 32 are used"},
		{"node n1 ext=(nvidia.com/gpu:32,example.com/nic:32)", ""},
	} {
		s.mustHappen(t, "%s", turn.happens)
		var got []string
		for _, e := range s.world.Columns().Excess() {
			got = append(got, e.String())
		}
		if got := strings.Join(got, "; "); got != turn.want {
			t.Errorf("after %q the excess is %q, want %q", turn.happens, got, turn.want)
		}
	}
}
