package scheduler

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// A pod that is asked about node by node is told what would let it in, and not only what keeps it off.
func TestWhatUnblocks(t *testing.T) {
	disk := func(i int) *v1.Pod {
		p := plainPod(i)
		p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{PDName: "one"}}}}
		return p
	}
	used := disk(5)
	used.Spec.NodeName = bigNode(0).Name
	claims := plainPod(3)
	claims.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "lost"}}}}
	picky := disk(4)
	picky.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	gpu := claiming(1) // of the one device that there is, which gpu-0 has
	objects := append(devices(bigNode(0).Name, 2), bigNode(0), used)
	objects[0] = devices(bigNode(0).Name, 1)[0]
	inBubble(t, objects, func(b *bubble) {
		b.Config.Profiles[0].Evictions.Enabled = false
		b.run()
		b.pass(time.Second)
		b.create(claiming(0))
		b.pass(time.Second)
		for _, test := range []struct {
			pod   *v1.Pod
			waits string
		}{
			{disk(2), "it waits for the pod that uses its disk or claim to end, on one of 1 nodes"},
			{claims, "it waits for the claims that it names"},
			{picky, "it waits for a node that it may use"},
			{gpu, "it waits for a device that its claims ask for to come free, on one of 1 nodes"},
		} {
			b.create(test.pod)
			b.pass(time.Minute)
			if got := b.explainer.reported[test.pod.UID].message; !strings.HasSuffix(got, " Fairlead: "+test.waits+".") {
				b.t.Errorf("reported of %s: %s", test.pod.Name, got)
			}
		}
	})
}
