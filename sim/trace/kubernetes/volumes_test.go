package kubernetes

import (
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/fairlead/sim/trace"
)

// flow is what the texts begin with, which are YAML whose objects are written like JSON.
const flow = "# YAML\n"

// threeZones are nodes in zones, the last of them in none, and classes of all sorts.
const threeZones = `
{kind: Node, metadata: {name: n1, labels: {topology.kubernetes.io/zone: a, kubernetes.io/hostname: n1}}}
---
{kind: Node, metadata: {name: n2, labels: {topology.kubernetes.io/zone: b, kubernetes.io/hostname: n2}}}
---
{kind: Node, metadata: {name: n3, labels: {kubernetes.io/hostname: n3}}}
---
{kind: StorageClass, metadata: {name: fast}, provisioner: fast.example.com, volumeBindingMode: Immediate}
---
{kind: StorageClass, metadata: {name: late}, provisioner: late.example.com, volumeBindingMode: WaitForFirstConsumer}
---
{kind: StorageClass, metadata: {name: in-b}, provisioner: late.example.com, volumeBindingMode: WaitForFirstConsumer, allowedTopologies: [{matchLabelExpressions: [{key: topology.kubernetes.io/zone, values: [b]}]}]}
---
{kind: StorageClass, metadata: {name: local}, provisioner: kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer}
---
{kind: PersistentVolume, metadata: {name: zonal}, spec: {nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [a]}]}]}}, claimRef: {namespace: shop, name: bound}}, status: {phase: Bound}}
---
{kind: PersistentVolume, metadata: {name: labelled, labels: {failure-domain.beta.kubernetes.io/zone: a__c}}, status: {phase: Bound}}
---
{kind: PersistentVolume, metadata: {name: disk-1}, spec: {storageClassName: local, capacity: {storage: 5Gi}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]}]}}}, status: {phase: Available}}
---
{kind: PersistentVolume, metadata: {name: disk-2}, spec: {storageClassName: local, capacity: {storage: 50Gi}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n2]}]}]}}}, status: {phase: Available}}
---
`

// claim is a claim of that name, with this in its spec, and this beside it.
func claim(name, spec, more string) string {
	return fmt.Sprintf("{kind: PersistentVolumeClaim, metadata: {name: %s, namespace: shop%s}, spec: {%s}}\n---\n", name, more, spec)
}

// mounting is a pod with these claims.
func mounting(name, node string, claims ...string) string {
	var volumes []string
	for i, c := range claims {
		volumes = append(volumes, fmt.Sprintf("{name: v%d, persistentVolumeClaim: {claimName: %s}}", i, c))
	}
	return fmt.Sprintf("{kind: Pod, metadata: {name: %s, namespace: shop}, spec: {nodeName: '%s', volumes: [%s]}}\n---\n", name, node, strings.Join(volumes, ", "))
}

const boundTo = "annotations: {pv.kubernetes.io/bind-completed: 'yes'}"

// TestClaims: a claim lets its pod go to nodes that its volume can be reached from, or where one could be had; and to
// none, with the reason, where that is not known yet.
func TestClaims(t *testing.T) {
	for _, c := range []struct{ name, claim, want, nodes string }{
		{"bound", claim("c", "volumeName: zonal", ", "+boundTo), "shop/c (topology.kubernetes.io/zone in a)", "n1"},
		{"labels of the volume", claim("c", "volumeName: labelled", ", "+boundTo), "shop/c (its label failure-domain.beta.kubernetes.io/zone in a,c)", "n1 n3"},
		{"any node will do", claim("c", "storageClassName: late", ""), "", "n1 n2 n3"},
		{"the class is for zones", claim("c", "storageClassName: in-b", ""), "shop/c (a volume of class in-b, for topology.kubernetes.io/zone in b)", "n2"},
		{"a volume is there", claim("c", "storageClassName: local, resources: {requests: {storage: 10Gi}}", ""), "shop/c (an available volume of class local and 10Gi)", "n2"},
		{"on its way", claim("c", "storageClassName: late", ", annotations: {volume.kubernetes.io/selected-node: n2}"), "shop/c (a volume of class late with room for any size, which is being made for node n2)", "n2"},
		{"bound at once", claim("c", "storageClassName: fast", ""), "shop/c: it is not bound, and its class fast binds at once", ""},
		{"no class", claim("c", "volumeMode: Block", ""), "shop/c: it is not bound, and has no class", ""},
		{"unknown class", claim("c", "storageClassName: gone", ""), "shop/c: it is not bound, and its class gone is not there", ""},
		{"promised a volume", claim("c", "storageClassName: late, volumeName: zonal", ""), "shop/c: it is not bound yet to the volume zonal, which it names", ""},
		{"volume is gone", claim("c", "volumeName: gone", ", "+boundTo), "shop/c: its volume gone is not there", ""},
		{"leaving", claim("c", "volumeName: zonal", ", deletionTimestamp: '2026-01-01T00:00:00Z'"), "shop/c: it is being deleted", ""},
		{"missing", claim("other", "storageClassName: late", ""), "shop/c: it is not there", ""},
		{"lost", strings.Replace(claim("c", "volumeName: gone", ""), "}}\n", "}, status: {phase: Lost}}\n", 1), "shop/c: it has lost its volume gone", ""},
	} {
		requirements, nodes := admitted(t, threeZones+c.claim+mounting("p", "", "c"))
		if got := strings.TrimSuffix(strings.TrimPrefix(requirements, "["+trace.Claims), "=yes]"); got != c.want {
			t.Errorf("%s: requires %s, want %s", c.name, requirements, c.want)
		}
		if nodes != c.nodes {
			t.Errorf("%s: admits %s, want %s", c.name, nodes, c.nodes)
		}
	}
}

// admitted is what the last pod requires, and the nodes that meet it.
func admitted(t *testing.T, text string) (requirements, nodes string) {
	t.Helper()
	all, _, err := readText(t, flow+text)
	if err != nil {
		t.Fatal(err)
	}
	var texts, names []string
	last := all[len(all)-1].Task
	for _, q := range last.Requirements {
		texts = append(texts, "["+q.String()+"]")
	}
next:
	for _, r := range all {
		if r.What != trace.NodeAdded {
			continue
		}
		for _, q := range last.Requirements {
			if !q.Matches(r.Node.Labels) {
				continue next
			}
		}
		names = append(names, r.Node.Name)
	}
	return strings.Join(texts, " "), strings.Join(names, " ")
}

// TestClaimsAlike: pods whose claims allow the same nodes share a requirement, which names the first of them.
func TestClaimsAlike(t *testing.T) {
	text := threeZones + mounting("p1", "", "c1") + mounting("p2", "", "c2", "c3") + mounting("p3", "", "c1", "missing")
	for _, name := range []string{"c1", "c2", "c3"} {
		text += claim(name, "storageClassName: in-b", "")
	}
	all, _, err := readText(t, flow+text)
	if err != nil {
		t.Fatal(err)
	}
	const inB = "[spec.volumes: (a volume of class in-b, for topology.kubernetes.io/zone in b)=yes]"
	want := []string{inB, inB, inB + " [spec.volumes: shop/missing: it is not there=yes]"}
	for i, r := range all[3:] {
		var got []string
		for _, q := range r.Task.Requirements {
			got = append(got, "["+q.String()+"]")
		}
		if got := strings.Join(got, " "); got != want[i] {
			t.Errorf("pod %d requires\n%s, want\n%s", i+1, got, want[i])
		}
	}
}

// TestRoomForClaims: a class whose driver publishes how much room there is makes volumes where there is enough of it. Where
// the drivers are not in the file, a class with rooms is such a class.
func TestRoomForClaims(t *testing.T) {
	const rooms = `{kind: CSIStorageCapacity, metadata: {name: r1}, storageClassName: late, capacity: 100Gi, maximumVolumeSize: 5Gi, nodeTopology: {matchLabels: {topology.kubernetes.io/zone: a}}}
---
{kind: CSIStorageCapacity, metadata: {name: r2}, storageClassName: late, capacity: 100Gi, nodeTopology: {matchLabels: {topology.kubernetes.io/zone: b}}}
---
`
	driver := func(publishes string) string {
		return "{kind: CSIDriver, metadata: {name: late.example.com}, spec: {storageCapacity: " + publishes + "}}\n---\n"
	}
	ask := func(size string) string {
		return claim("c", "storageClassName: late, resources: {requests: {storage: "+size+"}}", "") + mounting("p", "", "c")
	}
	for _, c := range []struct{ name, text, nodes string }{
		{"small", rooms + driver("true") + ask("5Gi"), "n1 n2"},
		{"large", rooms + driver("true") + ask("6Gi"), "n2"},
		{"too large", rooms + driver("true") + ask("101Gi"), ""},
		{"no driver in the file", rooms + ask("6Gi"), "n2"},
		{"the driver publishes nothing", rooms + driver("false") + ask("6Gi"), "n1 n2 n3"},
		{"no size", rooms + driver("true") + claim("c", "storageClassName: late", "") + mounting("p", "", "c"), "n1 n2 n3"},
	} {
		if _, got := admitted(t, threeZones+c.text); got != c.nodes {
			t.Errorf("%s: admits %s, want %s", c.name, got, c.nodes)
		}
	}
}

// TestEphemeral: a generic ephemeral volume is a claim named after pod and volume, which its controller makes where it is
// not there.
func TestEphemeral(t *testing.T) {
	pod := func(class string) string {
		return "{kind: Pod, metadata: {name: p, namespace: shop}, spec: {volumes: [{name: tmp, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: " + class + "}}}}]}}\n---\n"
	}
	for _, c := range []struct{ name, text, nodes string }{
		{"made", claim("x", "", "") + pod("in-b"), "n2"},
		{"there", claim("p-tmp", "storageClassName: late", ", ownerReferences: [{kind: Pod, name: p}]") + pod("in-b"), "n1 n2 n3"},
		{"another's", claim("p-tmp", "storageClassName: late", ", ownerReferences: [{kind: Pod, name: q}]") + pod("in-b"), ""},
	} {
		if _, got := admitted(t, threeZones+c.text); got != c.nodes {
			t.Errorf("%s: admits %s, want %s", c.name, got, c.nodes)
		}
	}
}

// TestCountedVolumes: how many volumes a node attaches, and has to give, are resources. What several pods share counts once
// for those that run on a node, and for each that waits.
func TestCountedVolumes(t *testing.T) {
	const text = threeZones + `
{kind: CSINode, metadata: {name: n1}, spec: {drivers: [{name: late.example.com, allocatable: {count: 2}}, {name: other, allocatable: {count: 1}}]}}
---
{kind: CSINode, metadata: {name: n2}, spec: {drivers: [{name: late.example.com}]}}
---
{kind: PersistentVolume, metadata: {name: pv}, spec: {csi: {driver: late.example.com, volumeHandle: h}}, status: {phase: Bound}}
---
`
	got := text + claim("shared", "volumeName: pv, storageClassName: late", ", "+boundTo) + claim("c", "storageClassName: late", "") + claim("d", "storageClassName: local", "") + claim("e", "storageClassName: local", "") +
		mounting("p1", "n1", "shared") + mounting("p2", "n1", "shared", "c") + mounting("p3", "n2", "shared") + mounting("p4", "", "shared", "c", "d", "e")
	all, s, err := readText(t, flow+got)
	if err != nil {
		t.Fatal(err)
	}
	wantPicture(t, s, all, `
0 n1 attachable volumes of late.example.com=2 available volumes of class local=1 [spec.volumes: (an available volume of class local and any size)=yes] [topology.kubernetes.io/zone=a]
1 n2 attachable volumes of late.example.com=5 available volumes of class local=1 [spec.volumes: (an available volume of class local and any size)=yes] [topology.kubernetes.io/zone=b]
2 n3 attachable volumes of late.example.com=5
shop/p1 0/0 of 1 user=shop class=0 priority=0 pods=1 attachable volumes of late.example.com=1 on 0
shop/p2 1/0 of 1 user=shop class=0 priority=0 pods=1 attachable volumes of late.example.com=1 on 0
shop/p3 2/0 of 1 user=shop class=0 priority=0 pods=1 attachable volumes of late.example.com=1 on 1
shop/p4 3/0 of 1 user=shop class=0 priority=0 pods=1 attachable volumes of late.example.com=2 available volumes of class local=2 [spec.volumes: (an available volume of class local and any size)=yes] [spec.volumes: shop/d with shop/e (a volume for each of them)=yes]
`)
}

// TestOncePod: of the pods with a claim for one pod at a time one may run, wherever.
func TestOncePod(t *testing.T) {
	once := claim("c", "storageClassName: late, accessModes: [ReadWriteOncePod]", "")
	all, s, err := readText(t, flow+threeZones+once+mounting("p1", "", "c")+mounting("p2", "", "c"))
	if err != nil {
		t.Fatal(err)
	}
	if got := picture(s, all); !strings.Contains(got, `claim shop/c: ReadWriteOncePod: {"k8s:claim shop/c", {"k8s:claim shop/c", 0, 0}, k8s:cluster}: hard`) || strings.Count(got, "<k8s:claim shop/c>") != 2 {
		t.Errorf("got\n%s", got)
	}
	all, s, err = readText(t, flow+threeZones+once+mounting("p1", "", "c"))
	if got := picture(s, all); err != nil || strings.Contains(got, "k8s:") {
		t.Errorf("one user alone: %v\n%s", err, got)
	}
}

// TestDisks: a disk that pods name themselves is refused where several do, and one of them writes.
func TestDisks(t *testing.T) {
	pod := func(name, disk string) string {
		return "{kind: Pod, metadata: {name: " + name + "}, spec: {volumes: [{emptyDir: {}}, {" + disk + "}]}}\n---\n"
	}
	const nodes = "{kind: Node, metadata: {name: n}}\n---\n"
	for _, c := range []struct{ disk, other, field string }{
		{"awsElasticBlockStore: {volumeID: x, readOnly: true}", "", "awsElasticBlockStore"},
		{"gcePersistentDisk: {pdName: x}", "gcePersistentDisk: {pdName: x, readOnly: true}", "gcePersistentDisk"},
		{"gcePersistentDisk: {pdName: x, readOnly: true}", "", ""},
		{"iscsi: {iqn: x}", "", "iscsi"},
		{"rbd: {image: x, pool: p}", "", "rbd"},
		{"rbd: {image: x, pool: p}", "rbd: {image: x, pool: q}", ""},
		{"azureDisk: {diskURI: x}", "", ""},
		{"hostPath: {path: /x}", "", ""},
	} {
		other := c.other
		if other == "" {
			other = c.disk
		}
		_, _, err := readText(t, flow+nodes+pod("a", c.disk)+pod("b", other))
		if want := "spec.volumes[1]." + c.field + ": want a field that is simulated: that a node mounts a disk for one pod alone is not simulated, and 2 pods have this one"; c.field != "" && (err == nil || !strings.Contains(err.Error(), want)) || c.field == "" && err != nil {
			t.Errorf("%s: %v", c.disk, err)
		}
		if _, _, err := readText(t, flow+nodes+pod("a", c.disk)); err != nil {
			t.Errorf("%s of one pod: %v", c.disk, err)
		}
	}
}

// TestWithoutStorage: where the files do not say where volumes are, pods that run stay where they are, and those that wait
// are refused with the kinds that are missing.
func TestWithoutStorage(t *testing.T) {
	const nodes = "{kind: Node, metadata: {name: n}}\n---\n"
	requirements, _ := admitted(t, nodes+mounting("p", "n", "c"))
	_, s, err := readText(t, flow+nodes+mounting("p", "n", "c")+mounting("q", "n", "d"))
	if err != nil || requirements != "[metadata.name=n]" || len(s.Notes()) != 1 || !strings.HasPrefix(s.Notes()[0], "2 pods that run have claims of volumes, and stay where they are") || !strings.HasSuffix(s.Notes()[0], "add persistentvolumeclaims,persistentvolumes,storageclasses,csinodes,csidrivers,csistoragecapacities to kubectl get") {
		t.Errorf("%v: requires %s; %v", err, requirements, s.Notes())
	}
	for _, c := range []struct{ text, missing string }{
		{nodes + mounting("p", "", "c"), "kubectl get persistentvolumeclaims,persistentvolumes,"},
		{nodes + claim("c", "volumeName: pv", ", "+boundTo) + mounting("p", "", "c"), "kubectl get persistentvolumes,storageclasses,"},
		{nodes + claim("c", "storageClassName: late", "") + mounting("p", "", "c"), "kubectl get persistentvolumes,storageclasses,"},
		{claim("c", "storageClassName: late", "") + mounting("p", "", "c"), "only of nodes in the same files"},
	} {
		if _, _, err := readText(t, flow+c.text); err == nil || !strings.Contains(err.Error(), "pod shop/p: spec.volumes[0]: want a field that is simulated") || !strings.Contains(err.Error(), c.missing) {
			t.Errorf("%v, want %s", err, c.missing)
		}
	}
	file := write(t, "me.yaml", flow+threeZones+claim("c", "volumeName: zonal", ", "+boundTo)+mounting("p", "n1", "c"))
	if _, _, err := read(t, file, Options{Elsewhere: true}); err == nil || !strings.Contains(err.Error(), "only of nodes in the same files") {
		t.Errorf("nodes from elsewhere: %v", err)
	}
}

// TestBrokenStorage: what cannot be read of it is named.
func TestBrokenStorage(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{claim("c", "resources: {requests: {storage: lots}}", ""), "persistentvolumeclaim shop/c: spec.resources.requests.storage: want a quantity"},
		{claim("c", "selector: {matchExpressions: [{key: a, operator: Near}]}", ""), "persistentvolumeclaim shop/c: spec.selector.matchExpressions[0].operator: want one of"},
		{"{kind: PersistentVolume, metadata: {name: v}, spec: {capacity: {storage: -}}}", "persistentvolume v: spec.capacity.storage: want a quantity"},
		{"{kind: PersistentVolume, metadata: {name: v}, spec: {capacity: 3}}", "spec.capacity: want a value of type map"},
		{"{kind: PersistentVolume, metadata: {name: v}, spec: {nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Near}]}]}}}}", "persistentvolume v: spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].operator: want one of"},
		{"{kind: CSIStorageCapacity, metadata: {name: r}, capacity: lots}", "csistoragecapacity r: capacity: want a quantity"},
		{"{kind: CSIStorageCapacity, metadata: {name: r}, nodeTopology: {matchExpressions: [{operator: In}]}}", "csistoragecapacity r: nodeTopology.matchExpressions[0].key: want a label's key"},
	} {
		if _, _, err := readText(t, flow+c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

// TestWriteVolumes: what follows from claims is in the file that is written, which has none of them.
func TestWriteVolumes(t *testing.T) {
	text := threeZones + `
{kind: CSINode, metadata: {name: n1}, spec: {drivers: [{name: late.example.com, allocatable: {count: 2}}]}}
---
` + claim("once", "storageClassName: late, accessModes: [ReadWriteOncePod]", "") + claim("in-b", "storageClassName: in-b", "") + claim("fast", "storageClassName: fast", "") + claim("local", "storageClassName: local", "") +
		mounting("p1", "n1", "once") + mounting("p2", "", "once", "in-b") + mounting("p3", "", "fast", "local")
	all, s, err := readText(t, flow+text)
	if err != nil {
		t.Fatal(err)
	}
	s.given = 0
	got, second := again(t, s, lossless(t))
	if diff := gocmp.Diff(picture(s, all), picture(second, got)); diff != "" {
		t.Error(diff)
	}
}

// TestNewClaims: pods that a what-if makes of a StatefulSet have claims like those of its pods, or of its templates, which are
// not bound.
func TestNewClaims(t *testing.T) {
	const owner = ", ownerReferences: [{kind: StatefulSet, name: db, uid: d, controller: true}]}"
	grown := strings.Replace(mounting("db-1", "n1", "data-db-1", "shared"), "namespace: shop}", "namespace: shop"+owner, 1)
	text := threeZones + claim("data-db-1", "volumeName: zonal, storageClassName: in-b", ", "+boundTo) + claim("shared", "storageClassName: late", "") + grown
	file := write(t, "me.yaml", flow+text)
	all, _, err := read(t, file, Options{Changes: &Changes{Scale: []Size{{"db", 2}}}})
	if err != nil {
		t.Fatal(err)
	}
	last := all[len(all)-1].Task
	if got := fmt.Sprint(last.Requirements); last.Name != "shop/db-0" || got != "[spec.volumes: shop/data-db-0 (a volume of class in-b, for topology.kubernetes.io/zone in b)=yes]" {
		t.Errorf("%s requires %s", last.Name, got)
	}
}
