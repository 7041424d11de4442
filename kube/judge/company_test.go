package judge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	clienttesting "k8s.io/client-go/testing"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
)

// sharers are pods of a gang on nodes n1 and n2, of which each has a claim of its own, and all have the claim "shared" for a device of n1, or for one that both nodes can reach.
type sharers struct {
	*bench
	t         *testing.T
	pods      []*v1.Pod
	company   *Company
	conflicts int // that the API server has found
}

func newSharers(t *testing.T, pods int, everywhere, ofGroup bool) *sharers {
	t.Helper()
	s := &sharers{t: t, company: NewCompany()}
	fabric := offering("n1", kinded("wire", "net"))
	fabric.Name, fabric.Spec.Pool.Name = "fabric", "fabric"
	if everywhere {
		fabric.Spec.NodeName, fabric.Spec.AllNodes = nil, new(true)
	}
	var cards []resourcev1.Device
	for i := range pods {
		cards = append(cards, kinded(fmt.Sprint("card-", i), "gpu"))
	}
	objects := []runtime.Object{
		namespace("default", "red"), deviceClass("net", "net"), deviceClass("gpu", "gpu"), fabric, claimFor("shared", exactly("wire", "net", 1)),
		offering("n1", cards...), offering("n2", cards...),
	}
	if ofGroup {
		featuregatetesting.SetFeatureGatesDuringTest(t, utilfeature.DefaultFeatureGate, featuregatetesting.FeatureOverrides{features.GenericWorkload: true, features.DRAWorkloadResourceClaims: true})
		g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gang", UID: "uid-gang"}}
		g.Spec.ResourceClaims = []schedulingv1beta1.PodGroupResourceClaim{{Name: "shared", ResourceClaimName: new("shared")}}
		objects = append(objects, g)
	}
	for i := range pods {
		pod := claiming(makePod(fmt.Sprint("pod-", i)), "shared", fmt.Sprint("own-", i))
		pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: new("gang")}
		objects, s.pods = append(objects, claimFor(fmt.Sprint("own-", i), exactly("gpu", "gpu", 1))), append(s.pods, pod)
	}
	for _, o := range objects {
		if claim, is := o.(*resourcev1.ResourceClaim); is {
			claim.ResourceVersion = "1"
		}
	}
	s.bench = newBench(t, objects...)
	s.client.PrependReactor("update", "resourceclaims", s.checkVersions)
	s.judge.SetNode(makeNode("n1"))
	s.judge.SetNode(makeNode("n2"))
	eventually(t, "the first pod finds its devices", func() bool { return s.judge.Diagnose(s.pods[0]) == nil })
	return s
}

// checkVersions refuses a write to what is not the latest version of a claim, as an API server does, and makes a new version.
func (s *sharers) checkVersions(action clienttesting.Action) (bool, runtime.Object, error) {
	claim := action.(clienttesting.UpdateAction).GetObject().(*resourcev1.ResourceClaim)
	latest, err := s.client.Tracker().Get(action.GetResource(), claim.Namespace, claim.Name)
	if err != nil {
		return true, nil, err
	}
	if version := latest.(*resourcev1.ResourceClaim).ResourceVersion; version != claim.ResourceVersion {
		s.conflicts++
		return true, nil, apierrors.NewConflict(action.GetResource().GroupResource(), claim.Name, errors.New("it is not the latest"))
	}
	version, err := strconv.Atoi(claim.ResourceVersion)
	claim.ResourceVersion = strconv.Itoa(version + 1)
	return err != nil, nil, err
}

// try reserves for a pod, as one of the company or of another.
func (s *sharers) try(pod int, node string, company *Company) (*Reservation, *fwk.Status) {
	Accompany(s.judge, company)
	defer Accompany(s.judge, nil)
	c, status := s.judge.Case(s.pods[pod], nil)
	if !status.IsSuccess() {
		return nil, status
	}
	defer c.Close()
	if status := c.LastWord(s.pods[pod], node); !status.IsSuccess() {
		return nil, status
	}
	return s.judge.Reserve(s.t.Context(), c, s.pods[pod], node)
}

func (s *sharers) must(r *Reservation, status *fwk.Status) *Reservation {
	s.t.Helper()
	if !status.IsSuccess() {
		s.t.Fatal(words(status))
	}
	return r
}

// claim is a claim as the API server has it.
func (s *sharers) claim(name string) *resourcev1.ResourceClaim {
	s.t.Helper()
	claim, err := s.client.ResourceV1().ResourceClaims("default").Get(s.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return claim
}

// reservedFor are for whom the claim is reserved.
func reservedFor(claim *resourcev1.ResourceClaim) string {
	var names []string
	for _, of := range claim.Status.ReservedFor {
		names = append(names, of.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// The first pod of a gang allocates what all of them share; the others are admitted where it can be used, and each adds itself once the first has written it, whoever is prepared for first.
// A pod of no company with them waits.
func TestCompanySharesAClaim(t *testing.T) {
	for _, test := range []struct {
		everywhere, ofGroup bool
		users               string
	}{{false, false, "pod-0 pod-1 pod-2 pod-3 pod-4 pod-5 pod-6 pod-7"}, {true, false, "pod-0 pod-1 pod-2 pod-3 pod-4 pod-5 pod-6 pod-7"}, {false, true, "gang"}, {true, true, "gang"}} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			s := newSharers(t, 9, test.everywhere, test.ofGroup)
			first := s.must(s.try(0, "n1", s.company))
			if _, status := s.try(1, "n1", nil); status.IsSuccess() {
				t.Error("a pod that is by itself is admitted while the claim is being allocated")
			}
			node := "n1"
			second, status := s.try(1, "n2", s.company)
			if status.IsSuccess() != test.everywhere {
				t.Fatalf("a pod of the company on another node: %s", words(status))
			}
			if test.everywhere {
				node = "n2"
				second.Unreserve(t.Context()) // what was set aside stays so
			}
			all := []*Reservation{first}
			for i := 1; i < 8; i++ {
				all = append(all, s.must(s.try(i, node, s.company)))
			}
			ended := make(chan string, len(all))
			for i, r := range slices.Backward(all) {
				if i == 0 {
					select {
					case name := <-ended:
						t.Errorf("pod %s does not wait for who writes the claim", name)
					case <-time.After(20 * time.Millisecond):
					}
				}
				go func() {
					if status := r.PreBind(t.Context()); !status.IsSuccess() {
						t.Errorf("preparing for pod %s: %s", r.pod.Name, words(status))
					}
					ended <- r.pod.Name
				}()
			}
			for range all {
				<-ended
			}
			if claim := s.claim("shared"); claim.Status.Allocation == nil || reservedFor(claim) != test.users {
				t.Errorf("the claim has %v, reserved for %s", claim.Status.Allocation, reservedFor(claim))
			}
			if s.conflicts >= len(all) { // who follows had the claim before it was written
				t.Errorf("%d pods were %d times in each other's way", len(all), s.conflicts)
			}
			for _, r := range all {
				r.PostBind(t.Context())
			}
			eventually(t, "a later pod of the gang may use the claim", func() bool { r, status := s.try(8, "n1", nil); return status.IsSuccess() && r != nil })
		})
	}
}

// Where who writes the claim fails, nobody of the company goes on.
func TestCompanyFailsTogether(t *testing.T) {
	s := newSharers(t, 4, false, false)
	first, second, third := s.must(s.try(0, "n1", s.company)), s.must(s.try(1, "n1", s.company)), s.must(s.try(2, "n1", s.company))
	s.client.PrependReactor("update", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("no") })
	if first.PreBind(t.Context()).IsSuccess() {
		t.Fatal("the API server refuses the devices, and the pod is prepared for")
	}
	if status := second.PreBind(t.Context()); status.IsSuccess() || !strings.Contains(words(status), "claim shared got no devices") {
		t.Errorf("preparing for the second: %s", words(status))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if third.PreBind(ctx).IsSuccess() {
		t.Error("the third is prepared for")
	}
	for i, r := range []*Reservation{second, third, first} {
		if _, status := s.try(3, "n1", NewCompany()); status.IsSuccess() {
			t.Errorf("what was set aside is free when %d of 3 have given it back", i)
		}
		r.Unreserve(t.Context())
	}
	s.must(s.try(3, "n1", NewCompany()))
}

// A gang is given up after its claim was written: the last of its pods gives the devices back, and no pod that comes meanwhile takes the claim for one that has some.
func TestCompanyGivesAClaimBack(t *testing.T) {
	for _, ofGroup := range []bool{false, true} {
		t.Run(fmt.Sprint(ofGroup), func(t *testing.T) {
			s := newSharers(t, 3, false, ofGroup)
			first, second := s.must(s.try(0, "n1", s.company)), s.must(s.try(1, "n1", s.company))
			if status := first.PreBind(t.Context()); !status.IsSuccess() {
				t.Fatal(words(status))
			}
			late := func() *fwk.Status { _, status := s.try(2, "n1", NewCompany()); return status }
			if ofGroup {
				eventually(t, "a late pod waits until the others are prepared for", func() bool { return strings.Contains(words(late()), "is being written, or given back") })
			}
			release := func(r *Reservation) {
				if err := r.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			release(first)
			if ofGroup != (s.claim("shared").Status.Allocation != nil) {
				t.Errorf("the first has given up the claim, which is %s's, and it has %v", reservedFor(s.claim("shared")), s.claim("shared").Status.Allocation)
			}
			var once sync.Once
			s.client.PrependReactor("update", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
				if claim := action.(clienttesting.UpdateAction).GetObject().(*resourcev1.ResourceClaim); claim.Name == "shared" && ofGroup {
					once.Do(func() {
						if status := late(); status.IsSuccess() {
							t.Error("a late pod is admitted while the devices are given back")
						}
					})
				}
				return false, nil, nil
			})
			release(second)
			for _, name := range []string{"shared", "own-0", "own-1"} {
				if claim := s.claim(name); claim.Status.Allocation != nil || len(claim.Status.ReservedFor) > 0 {
					t.Errorf("claim %s has %v and is reserved for %s", name, claim.Status.Allocation, reservedFor(claim))
				}
			}
			later, status := s.try(2, "n1", NewCompany()) // at once
			if s.must(later, status).PreBind(t.Context()).IsSuccess() && s.claim("shared").Status.Allocation == nil {
				t.Error("a later pod is prepared for with a claim that has no devices")
			}
		})
	}
}

// PreBind is ended while it writes, and what it wrote is there all the same: the claim is given back with the pod for which it is reserved, or, where that fails as well, with the next try.
func TestReleaseOfWhatWasWrittenUnknown(t *testing.T) {
	for _, later := range []bool{false, true} {
		t.Run(fmt.Sprintf("later=%t", later), func(t *testing.T) {
			s := newSharers(t, 2, false, false)
			tried := s.must(s.try(0, "n1", s.company))
			s.client.PrependReactor("update", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
				claim := action.(clienttesting.UpdateAction).GetObject().(*resourcev1.ResourceClaim)
				if claim.Name != "shared" || claim.Status.Allocation == nil {
					return false, nil, nil
				}
				if refused, _, err := s.checkVersions(action); refused {
					return true, nil, err
				}
				return true, nil, cmp.Or(s.client.Tracker().Update(action.GetResource(), claim, claim.Namespace), context.Canceled)
			})
			if status := tried.PreBind(t.Context()); status.IsSuccess() || reservedFor(s.claim("shared")) != "pod-0" {
				t.Fatalf("the claim is reserved for %q", reservedFor(s.claim("shared")))
			}
			if later {
				tried.Unreserve(t.Context())
				eventually(t, "the claim is seen to have devices", func() bool {
					claim, err := s.judge.devices.ResourceClaims().Get("default", "shared")
					return err == nil && claim.Status.Allocation != nil
				})
				tried = s.must(s.try(0, "n1", s.company))
			}
			if err := tried.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			if claim := s.claim("shared"); claim.Status.Allocation != nil || reservedFor(claim) != "" {
				t.Errorf("the claim keeps %v, and is reserved for %q", claim.Status.Allocation, reservedFor(claim))
			}
		})
	}
}
