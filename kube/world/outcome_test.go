package world

import "testing"

// TestLastWordOnVolumes: pods that the core cannot tell apart are judged apart if one of them has a claim, of which upstream's filters may know more than the world.
func TestLastWordOnVolumes(t *testing.T) {
	s := newStory(t)
	if _, err := s.step(&line{of: "step"}, "node n1 zone=a\nvolume v1 on=b claim=c1\nclaim c1 volume=v1"); err != nil {
		t.Fatal(err)
	}
	VolumesOf(s.world).See(makeVolume("v1", "c1", "", ""))
	if err := s.happen("pod plain"); err != nil {
		t.Fatal(err)
	}
	if err := s.happen("pod claims claim=c1"); err != nil {
		t.Fatal(err)
	}
	v := s.turn()
	if len(v.accepted) != 1 || v.accepted[0].pod.object.Name != "plain" || len(v.refused) != 1 || v.refused[0].status.Plugin() != "VolumeBinding" {
		t.Errorf("accepted %v, refused %v, want the pod without a claim, and the other refused by VolumeBinding", v.accepted, v.refused)
	}
}
