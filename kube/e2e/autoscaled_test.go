package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"fairlead.dev/fairlead/kube/testbed"
)

// This file is a cluster without nodes, to which Karpenter brings them, and whose default-scheduler is ours.

// defaultScheduler is whose pods ours places here.
const defaultScheduler = "default-scheduler"

// karpenterProfile is that of a scheduler that has taken the place of kube-scheduler.
const karpenterProfile = "{schedulerName: default-scheduler, policy: fairlead}"

// nodePool has Karpenter make nodes of three sizes in three zones, and take back what is empty or could be smaller, as fast as it does.
const nodePool = `
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      expireAfter: Never
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements:
      - {key: karpenter.kwok.sh/instance-family, operator: In, values: [c]}
      - {key: karpenter.kwok.sh/instance-cpu, operator: In, values: ["2", "4", "8"]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      - {key: kubernetes.io/arch, operator: In, values: [amd64]}
      - {key: kubernetes.io/os, operator: In, values: [linux]}
      - {key: topology.kubernetes.io/zone, operator: In, values: [test-zone-a, test-zone-b, test-zone-c]}
  disruption:
    consolidationPolicy: WhenEmptyOrUnderutilized
    consolidateAfter: 5s
    budgets: [{nodes: "100%"}]
`

var growingBed = sharedBed{options: withPodGroups(testbed.Options{Tmpfs: true, ControllerManager: true, Kwok: true})}

// autoscaled is a cluster to which Karpenter brings nodes.
type autoscaled struct {
	*cluster
	claims *nodeClaims
}

var growing struct {
	once   sync.Once
	claims *nodeClaims
	err    error
}

// autoscaling is a cluster without nodes, with Karpenter and our scheduler. Its pods and nodes go with the test.
func autoscaling(t *testing.T) *autoscaled {
	t.Helper()
	skipIfShort(t)
	testbed.SkipUnlessKarpenter(t)
	bed := growingBed.get(t)
	growing.once.Do(func() {
		ctx := context.Background() // all tests use them
		if growing.err = testbed.StartKarpenter(ctx, bed, "CapacityBuffer=true"); growing.err != nil {
			return
		}
		if growing.err = testbed.Kubectl(ctx, bed, nodePool, "create", "-f", "-"); growing.err != nil {
			return
		}
		if growing.err = bed.StartFairlead(ctx, build(t), karpenterProfile, 10_000); growing.err != nil {
			return
		}
		growing.claims, growing.err = watchNodeClaims(ctx, bed)
	})
	if growing.err != nil {
		t.Fatal(growing.err)
	}
	a := &autoscaled{cluster: newCluster(t, bed), claims: growing.claims}
	a.logs = append(a.logs, logOf{bed, testbed.FairleadName}, logOf{bed, "karpenter"}, a.claims)
	a.await(time.Minute, func() string {
		if _, err := a.client.CoreV1().ServiceAccounts(a.namespace).Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
			return fmt.Sprintf("the service account: %v", err)
		}
		return ""
	})
	t.Cleanup(func() {
		a.must(a.client.AppsV1().Deployments(a.namespace).DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{}))
		a.must(a.client.AppsV1().DaemonSets(a.namespace).DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{}))
		a.deletePods()
		a.must(a.client.CoreV1().Namespaces().Delete(context.Background(), a.namespace, metav1.DeleteOptions{}))
		a.awaitNoNodes()
	})
	a.claims.begin()
	return a
}

// logOf is the end of what a process of a bed has logged.
type logOf struct {
	bed  *testbed.Bed
	name string
}

func (l logOf) String() string {
	text, err := os.ReadFile(filepath.Join(l.bed.Dir(), l.name+".log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-6000):])
}

// nodeClaims keeps what Karpenter asked of its provider: one for each node.
type nodeClaims struct {
	mu         sync.Mutex
	has        map[string]bool
	history    []string
	came, went int
	last       time.Time // when one came or went
}

var nodeClaimResource = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}

func watchNodeClaims(ctx context.Context, bed *testbed.Bed) (*nodeClaims, error) {
	config := bed.Config(testbed.Admin)
	config.ContentType, config.AcceptContentTypes = "", "" // other types than Kubernetes' own have no protocol buffers
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	n := &nodeClaims{has: map[string]bool{}, last: time.Now()}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	informer := factory.ForResource(nodeClaimResource).Informer()
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { n.see(o, true) },
		DeleteFunc: func(o any) { n.see(o, false) },
	})
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return n, nil
}

func (n *nodeClaims) see(object any, there bool) {
	if unknown, is := object.(cache.DeletedFinalStateUnknown); is {
		object = unknown.Obj
	}
	name := object.(*unstructured.Unstructured).GetName()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = time.Now()
	word := "came"
	if there {
		n.has[name] = true
		n.came++
	} else {
		delete(n.has, name)
		n.went++
		word = "went"
	}
	n.history = append(n.history, fmt.Sprintf("%s %s %s", n.last.Format("15:04:05.000"), name, word))
}

// watch has the time without any begin now.
func (n *nodeClaims) watch() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = time.Now()
}

// begin counts from nothing.
func (n *nodeClaims) begin() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.came, n.went, n.history, n.last = 0, 0, nil, time.Now()
}

func (n *nodeClaims) live() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.has)
}

// counts are how many came and went.
func (n *nodeClaims) counts() (came, went int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.came, n.went
}

// quiet is how long none came and none went.
func (n *nodeClaims) quiet() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Since(n.last)
}

// String is what came and went.
func (n *nodeClaims) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return fmt.Sprintf("nodes, %d that came and %d that went:\n%s", n.came, n.went, strings.Join(n.history, "\n"))
}

// settle waits until so many pods are bound and no node has come or gone for a while: whatever would make nodes come and go for
// ever never gets there.
func (a *autoscaled) settle(pods int, what string) {
	a.t.Helper()
	window := normally(40*time.Second, 2*time.Minute)
	began := time.Now()
	a.claims.watch() // what was changed last has yet to be noticed
	a.await(6*time.Minute, func() string {
		if bound := len(a.bound(ofNoDaemon)); bound != pods {
			return fmt.Sprintf("%d of %d pods are bound", bound, pods)
		}
		if quiet := a.claims.quiet(); quiet < window {
			return fmt.Sprintf("%s without a node that comes or goes; the last did %s ago, %s", window, quiet.Round(time.Second), a.claims)
		}
		return ""
	})
	came, went := a.claims.counts()
	a.t.Logf("%s: %d pods on %d nodes; %d nodes came and %d went; settled after %s", what, pods, a.claims.live(), came, went, (time.Since(began) - window).Round(time.Second))
	a.checkRoom()
}

// awaitNoNodes waits until Karpenter has taken back all nodes.
func (a *autoscaled) awaitNoNodes() {
	a.t.Helper()
	a.await(4*time.Minute, func() string {
		if live := a.claims.live(); live > 0 {
			return fmt.Sprintf("the end of %d nodes that nobody needs", live)
		}
		return ""
	})
}

// deploy makes a Deployment of pods for the default scheduler.
func (a *autoscaled) deploy(name string, replicas int32, options ...option) {
	a.t.Helper()
	_, err := a.client.AppsV1().Deployments(a.namespace).Create(a.t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: apps(name), Template: template(name, append(options, scheduledBy(defaultScheduler))...)},
	}, metav1.CreateOptions{})
	a.must(err)
}

func (a *autoscaled) scale(name string, replicas int) {
	a.t.Helper()
	_, err := a.client.AppsV1().Deployments(a.namespace).Patch(a.t.Context(), name, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas), metav1.PatchOptions{})
	a.must(err)
}
