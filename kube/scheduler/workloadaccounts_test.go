package scheduler

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	ktesting "k8s.io/client-go/testing"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/api/v1alpha1"
	"fairlead.dev/fairlead/kube/metrics"
)

// accounting has the API server serve ServiceClasses, of which the only one promises nine tenths, and WorkloadAccounts.
func accounting(t *testing.T, client *dynamic.Interface) func(*Options) {
	t.Helper()
	gold := serviceClass(t, "gold", 9, `{importance: 1, availability: "0.9", default: true}`)
	return func(o *Options) {
		*client = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
			ServiceClasses(): "ServiceClassList", WorkloadAccounts(): "WorkloadAccountList", Autoscalers(): "VerticalPodAutoscalerList",
		}, gold)
		o.ServiceClasses, o.WorkloadAccounts = *client, *client
	}
}

// replica is a pod of the Deployment web, of its ReplicaSet with that hash.
func replica(i int, hash string) *v1.Pod {
	p := plainPod(i)
	p.Labels["pod-template-hash"] = hash
	p.OwnerReferences[0].Kind, p.OwnerReferences[0].Name, p.OwnerReferences[0].UID = "ReplicaSet", "web-"+hash, types.UID("uid-web-"+hash)
	return p
}

// standing is what the account of the Deployment web says; nil if there is none.
func (b *bubble) standing(client dynamic.Interface) *v1alpha1.WorkloadAccountStatus {
	b.t.Helper()
	u, err := client.Resource(WorkloadAccounts()).Namespace("default").Get(b.t.Context(), "deployment.web", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	b.must(err)
	a := &v1alpha1.WorkloadAccount{}
	b.must(runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, a))
	return &a.Status
}

// succeed has another replica take over.
func (b *bubble) succeed() {
	b.t.Helper()
	b.stop()
	b.must(<-b.ended)
	o := b.Options
	o.Metrics = metrics.New(prometheus.NewRegistry())
	living, end := context.WithCancel(b.t.Context())
	s, err := New(living, o)
	b.must(err)
	b.Scheduler = s
	s.Start(living)
	b.t.Cleanup(func() {
		s.explainer.stop(s)
		end()
		s.intake.informers.Shutdown()
	})
	b.run()
	b.pass(time.Second)
}

// near fails unless a time is that, but for what a second of the API server's clock and a turn of the loop make of it.
func (b *bubble) near(what string, got cluster.Time, want time.Duration) {
	b.t.Helper()
	if off := time.Duration(got)*time.Microsecond - want; off < -3*time.Second || off > 3*time.Second {
		b.t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// How replicas have spent their time outlives the leader: the next one goes on from what was written, and counts what happened since.
func TestAccountsOutliveTheLeader(t *testing.T) {
	var client dynamic.Interface
	inBubbleWith(t, accounting(t, &client), []runtime.Object{replica(1, "a"), replica(2, "a")}, func(b *bubble) {
		b.run()
		b.pass(time.Minute)
		if s := b.standing(client); s == nil || len(s.Replicas) != 2 || s.Replicas[0].State != "Waiting" || s.Class != "gold" || s.Target != "0.9" {
			b.t.Fatalf("two replicas wait, and the account is %+v", s)
		}
		b.addNode(bigNode(0))
		b.pass(10 * time.Minute)
		for range 2 {
			b.succeed()
			b.pass(9*time.Minute + 59*time.Second)
		}
		for _, uid := range []types.UID{"uid-1", "uid-2"} {
			class, ran := b.classOf(uid)
			if class != "gold" {
				b.t.Errorf("%s is of class %s", uid, class)
			}
			b.near("how long "+string(uid)+" ran", ran, 30*time.Minute)
			task := b.epochs.core.View().Task(b.world.Pod(uid).Task())
			b.near("how long "+string(uid)+" waited", task.Account.Waiting, time.Minute)
		}
		b.must(b.api.Clientset.CoreV1().Pods("default").Delete(b.t.Context(), "pod-1", metav1.DeleteOptions{}))
		b.pass(10 * time.Second)
		if s := b.standing(client); s == nil || len(s.Replicas) != 2 || s.AtRisk != 0 || s.Available == "" || s.Replicas[0].State == s.Replicas[1].State {
			b.t.Errorf("a replica has no pod, and the account is %+v", s)
		}
		b.create(replica(3, "a"))
		b.succeed()
		_, ran := b.classOf("uid-3")
		b.near("how long the replica ran before its new pod", ran, 30*time.Minute)
	})
}

// What a workload has spent is not washed by rolling it out, nor by making it anew; it is forgotten when it has been gone for a day.
func TestAccountsOutliveTheWorkload(t *testing.T) {
	var client dynamic.Interface
	inBubbleWith(t, accounting(t, &client), []runtime.Object{bigNode(0), replica(1, "a")}, func(b *bubble) {
		b.run()
		b.pass(10 * time.Minute)
		pods := b.api.Clientset.CoreV1().Pods("default")
		b.must(pods.Delete(b.t.Context(), "pod-1", metav1.DeleteOptions{}))
		b.pass(time.Second)
		b.create(replica(2, "b")) // rolled out
		b.pass(time.Second)
		_, ran := b.classOf("uid-2")
		b.near("after it was rolled out it ran", ran, 10*time.Minute)
		b.pass(10 * time.Minute)
		b.must(pods.Delete(b.t.Context(), "pod-2", metav1.DeleteOptions{}))
		b.pass(time.Hour) // gone for good
		if s := b.standing(client); s == nil || len(s.Replicas) != 1 || s.Replicas[0].State != "Absent" {
			b.t.Errorf("of a workload that is gone the account is %+v", s)
		}
		b.create(replica(3, "c"))
		b.pass(time.Second)
		_, ran = b.classOf("uid-3")
		b.near("made anew it ran", ran, 20*time.Minute)
		b.must(pods.Delete(b.t.Context(), "pod-3", metav1.DeleteOptions{}))
		b.pass(25 * time.Hour)
		if s := b.standing(client); s != nil {
			b.t.Errorf("after a day the account is %+v", s)
		}
	})
}

// Beyond 256 replicas an account has sums, and a new leader shares them out.
func TestAccountsAreBounded(t *testing.T) {
	var client dynamic.Interface
	var objects []runtime.Object
	for i := range 300 {
		if i%100 == 0 {
			objects = append(objects, bigNode(i/100))
		}
		objects = append(objects, replica(i+1, "a"))
	}
	inBubbleWith(t, accounting(t, &client), objects, func(b *bubble) {
		b.run()
		b.pass(10 * time.Minute)
		if s := b.standing(client); s == nil || len(s.Replicas) != 256 || s.Others == nil || s.Others.Count != 44 {
			b.t.Fatalf("the account of 300 replicas is %+v", s)
		}
		b.succeed()
		for i := range 300 {
			_, ran := b.classOf(types.UID(fmt.Sprintf("uid-%d", i+1)))
			b.near(fmt.Sprintf("replica %d ran", i+1), ran, 10*time.Minute)
		}
	})
}

// Accounts that cannot be read hold up the first round, and what cannot be written is written later.
func TestAccountsWaitForTheServer(t *testing.T) {
	var client dynamic.Interface
	inBubbleWith(t, accounting(t, &client), []runtime.Object{bigNode(0), replica(1, "a")}, func(b *bubble) {
		fake := client.(*dynamicfake.FakeDynamicClient)
		away := map[string]bool{"list": true, "create": true}
		for verb := range away {
			fake.PrependReactor(verb, "workloadaccounts", func(ktesting.Action) (bool, runtime.Object, error) {
				return away[verb], nil, apierrors.NewServiceUnavailable("planted")
			})
		}
		b.run()
		b.pass(10 * time.Second)
		b.expectBound("")
		away["list"] = false
		b.pass(2 * time.Second)
		b.expectBound("pod-1")
		b.pass(time.Minute)
		if s := b.standing(client); s != nil {
			b.t.Errorf("it was written though that is refused: %+v", s)
		}
		away["create"] = false
		b.pass(10 * time.Second)
		if s := b.standing(client); s == nil {
			b.t.Error("what could not be written is not written later")
		}
	})
}

// An account says what its replicas have cost, and what they get back for what was promised and not kept.
func TestAccountsSayWhatIsOwed(t *testing.T) {
	var client dynamic.Interface
	large := replica(2, "5f")
	large.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse("2000")
	inBubbleWith(t, accounting(t, &client), []runtime.Object{bigNode(0), replica(1, "5f"), large}, func(b *bubble) {
		b.run()
		b.pass(time.Hour)
		// A core costs .9 an hour, as nine tenths are promised. One replica ran with a tenth of a core, and of the other all is given back.
		for name, of := range map[string]struct {
			text string
			want float64
		}{"charge": {b.standing(client).Charge, .09}, "credit": {b.standing(client).Credit, 2000 * .9 * .9}} {
			if is, err := strconv.ParseFloat(of.text, 64); err != nil || is < of.want*.95 || is > of.want {
				b.t.Errorf("the %s is %q (%v), want a little less than %v", name, of.text, err, of.want)
			}
		}
	})
}
