package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/testbed"
)

// This file has the faults of the other files strike while pods leave for more important ones: in the middle of the requests that they leave, or before these are
// bound. Whoever was told to leave stays until the test lets it go, so that the fault is over, or is known to last, by then.

// pressure is a full cluster, and pods of which each needs the room of two others. They come each by itself, or as a gang.
type pressure struct {
	*cluster
	gang bool
}

const (
	comers  = 3                // who needs room
	lows    = 2 * (comers + 2) // who has room
	victims = 2 * comers       // of those, who has to leave
	amid    = 3                // of the victims, who was told when the fault strikes: all of one node, and one of the next
)

// TestFaultsWhileOthersLeave wants in the end that whoever came runs, that no more have left than that took, and that nothing was bound twice or over-committed.
func TestFaultsWhileOthersLeave(t *testing.T) {
	skipIfShort(t)
	for _, fault := range []struct {
		name   string
		bed    func(*testing.T) *cluster
		strike func(*pressure) *fairlead // what leads in the end; nil if it is a process
	}{
		{"the leader is killed", grouping, (*pressure).leaderKilled},
		{"the API server is killed", onItsOwn(t), (*pressure).apiServerKilled},
		{"answers are lost", grouping, func(p *pressure) *fairlead { return p.requestsFail(false) }},
		{"requests are lost", grouping, func(p *pressure) *fairlead { return p.requestsFail(true) }},
		{"watches stall", grouping, (*pressure).watchesStall},
	} {
		for _, gang := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, gang=%t", fault.name, gang), func(t *testing.T) {
				p := &pressure{fault.bed(t), gang}
				p.fill()
				p.serve(fault.strike(p))
			})
		}
	}
}

// onItsOwn gives clusters on a bed for those that kill its API server, so that a failure does not take other tests along.
func onItsOwn(t *testing.T) func(*testing.T) *cluster {
	t.Helper()
	bed := ownBedOf(t, withPodGroups(testbed.Options{Tmpfs: true}))
	return func(t *testing.T) *cluster {
		t.Helper()
		c := newCluster(t, bed)
		t.Cleanup(c.empty)
		c.needs("scheduling.k8s.io/v1beta1", "podgroups")
		return c
	}
}

// fill brings the nodes, and who stands there before the scheduler begins.
func (p *pressure) fill() {
	p.t.Helper()
	p.addNodes(comers+2, "n", "4")
	p.t.Cleanup(func() { p.letGo(p.lasting()...) })
	low := priority(p.cluster, -10)
	for i, n := range p.nodes() {
		p.create(several(2, fmt.Sprintf("low-%d", i), cpu("2"), low, takesItsTime)...)
		for j := range 2 {
			p.bind(fmt.Sprintf("low-%d-%d", i, j), n.Name)
		}
	}
	p.addNodes(1, "small", "1")
}

// come creates those who need room.
func (p *pressure) come() {
	p.t.Helper()
	options := []option{cpu("4"), priority(p.cluster, 1000)}
	if p.gang {
		p.group("high", comers)
		options = append(options, member("high"))
	}
	p.create(several(comers, "high", options...)...)
}

// evicts has a profile evict.
func evicts(p *config.Profile) { p.Evictions.Enabled = true }

// evictsNobody has a profile evict nobody.
func evictsNobody(p *config.Profile) { p.Evictions.Enabled = false }

// leaderKilled kills a leader that has told some and, by its limit, may tell no more. Another one takes over.
func (p *pressure) leaderKilled() *fairlead {
	p.t.Helper()
	p.forgetLeader(leaseName)
	profiles := fmt.Sprintf("profiles: [{schedulerName: %s, evictions: {enabled: true, atOnce: %d}}]\n", testbed.FairleadProfile, amid)
	first := p.runWith("first", shortLease, profiles)
	leader := p.awaitLeader(30*time.Second, "")
	p.runWith("second", calmLease, profiles)
	p.come()
	p.awaitLeaving(amid)
	first.signal(syscall.SIGKILL)
	p.awaitLeader(time.Minute, leader)
	return nil
}

// apiServerKilled kills the API server with one of the requests: it and the next ones are not answered.
func (p *pressure) apiServerKilled() *fairlead {
	p.t.Helper()
	reached, killed := make(chan struct{}), make(chan struct{})
	f := p.start(settings{profile: evicts, bindTimeout: 3 * time.Second, faults: atEviction(amid+1, func() { close(reached); <-killed })})
	p.come()
	<-reached
	p.must(p.bed.KillAPIServer())
	close(killed)
	p.must(p.bed.StartAPIServer(p.t.Context()))
	return f
}

// requestsFail loses something of the first request for each pod, be it to leave or to be bound.
func (p *pressure) requestsFail(request bool) *fairlead {
	p.t.Helper()
	losing := losingFirst(request, bindOf, evictionOf)
	f := p.start(settings{profile: evicts, faults: losing})
	p.come()
	return f
}

// watchesStall stops the watch of pods when some have been told to leave, of which it says nothing. All of these but one are gone when it goes on.
func (p *pressure) watchesStall() *fairlead {
	p.t.Helper()
	pods, stalled := newSluice(), make(chan func(), 1)
	striking := atEviction(amid, func() { stalled <- pods.stall() })
	stalling := changingWatches("pods", func(b io.ReadCloser) io.ReadCloser { return stalling{b, pods} })
	f := p.start(settings{profile: evicts, faults: func(next http.RoundTripper) http.RoundTripper { return striking(stalling(next)) }})
	p.come()
	resume := <-stalled
	defer resume()
	p.awaitLeaving(amid) // or more, by how many of those who need room were seen before
	p.letGo(p.leaving()[1:]...)
	time.Sleep(normally(2*time.Second, time.Minute)) // The fault lasts that long.
	return f
}

// serve waits until all victims were told, lets one go after the other, and judges what came of it.
func (p *pressure) serve(f *fairlead) {
	p.t.Helper()
	p.await(time.Minute, func() string {
		if gone := lows - len(p.lows()); gone+len(p.leaving()) < victims {
			return fmt.Sprintf("%d pods told to leave; %d have left, and %v were told", victims, gone, p.leaving())
		}
		return ""
	})
	p.awaitNominated()
	leave := p.leaving()
	p.letGo(leave[1:]...)
	p.create(newPod("small")) // which is bound when it was seen who has left
	p.awaitBound(time.Minute, 1, named("small"))
	p.awaitNominated()
	if p.gang {
		if n := len(p.bound(prefixed("high"))); n > 0 {
			p.t.Errorf("%d pods of the gang are bound before there is room for all", n)
		}
	} else {
		p.awaitBound(time.Minute, comers-1, prefixed("high"))
	}
	p.letGo(leave[0])
	p.awaitBound(time.Minute, comers, prefixed("high"))
	if p.gang {
		p.awaitGroup("high", metav1.ConditionTrue, "")
	}
	p.checkRoom()
	p.checkNotTwice()
	if stay, told := len(p.lows()), p.leaving(); stay != lows-victims || len(told) > 0 {
		p.t.Errorf("%d pods stay, of which %v were told to leave; want %d, and none", stay, told, lows-victims)
	}
	if f != nil {
		if n := f.sum("fairlead_evictions_without_placement_total"); n != 0 {
			p.t.Errorf("%d evictions were without a placement", n)
		}
	}
}

// awaitNominated waits until each of those that wait has a nominated node of its own.
func (p *pressure) awaitNominated() {
	p.t.Helper()
	p.await(20*time.Second, func() string {
		nodes := map[string]bool{}
		for _, pod := range p.pods() {
			if node := pod.Status.NominatedNodeName + pod.Spec.NodeName; strings.HasPrefix(pod.Name, "high") && node != "" {
				nodes[node] = true
			}
		}
		if len(nodes) < comers {
			return fmt.Sprintf("%d nominated nodes, there are %v", comers, nodes)
		}
		return ""
	})
}

// lows are the pods of lower priority that are there.
func (p *pressure) lows() []v1.Pod { return p.bound(prefixed("low")) }
