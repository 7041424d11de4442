package world

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/cluster"
)

func TestWorkloadOf(t *testing.T) {
	yes := true
	for _, test := range []struct {
		name        string
		kind, owner string
		hash        string
		want        Workload
	}{
		{"of a Deployment", "ReplicaSet", "web-7d9f", "7d9f", Workload{"shop", "deployment", "web"}},
		{"of a ReplicaSet with another name", "ReplicaSet", "web", "7d9f", Workload{"shop", "replicaset", "web"}},
		{"of a ReplicaSet of its own", "ReplicaSet", "web-7d9f", "", Workload{"shop", "replicaset", "web-7d9f"}},
		{"of a StatefulSet", "StatefulSet", "db", "", Workload{"shop", "statefulset", "db"}},
		{"without a controller", "", "", "", Workload{"shop", "pod", "p"}},
	} {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p", Labels: map[string]string{"pod-template-hash": test.hash}}}
		if test.owner != "" {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: test.kind, Name: test.owner, Controller: &yes}}
		}
		if got := WorkloadOf(p); got != test.want {
			t.Errorf("a pod %s is of %+v, want %+v", test.name, got, test.want)
		}
	}
}

// What was written of a replica goes on to now: it runs on, has run since it came to its node, or has waited.
func TestCatchUp(t *testing.T) {
	const now = 1000 * cluster.Second
	l := &Ledger{journal: &journal{now: now}, times: Times{At: func(t metav1.Time) cluster.Time { return cluster.Time(t.Unix()) * cluster.Second }}}
	bound := func(at int64) *v1.Pod {
		return &v1.Pod{Spec: v1.PodSpec{NodeName: "n"}, Status: v1.PodStatus{Conditions: []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: metav1.Unix(at, 0)}}}}
	}
	account := cluster.Account{Submitted: 100 * cluster.Second, Since: 900 * cluster.Second, Waiting: 300 * cluster.Second, Running: 500 * cluster.Second, FirstRun: 400 * cluster.Second}
	fresh := cluster.Account{Submitted: 600 * cluster.Second, Since: 900 * cluster.Second, Waiting: 300 * cluster.Second, FirstRun: cluster.Never}
	for _, test := range []struct {
		name             string
		of               cluster.Account
		phase            cluster.Phase
		pod              *v1.Pod
		waiting, running cluster.Time // of the last hundred seconds
		first            cluster.Time
	}{
		{"runs on", account, cluster.Running, bound(400), 0, 100, 400},
		{"came to its node meanwhile", fresh, cluster.Waiting, bound(940), 40, 60, 940},
		{"was started, and runs", fresh, cluster.Starting, bound(890), 0, 100, 900},
		{"waits on", fresh, cluster.Waiting, &v1.Pod{}, 100, 0, 0},
		{"had not come, and came", account, cluster.Gated, bound(950), 0, 50, 400},
		{"came by a clock ahead of ours", fresh, cluster.Waiting, bound(2000), 100, 0, 1000},
		{"is held", fresh, cluster.Gated, &v1.Pod{}, 0, 0, 0},
	} {
		s := Spent{Account: test.of, Phase: test.phase}
		s.catchUp(l, test.pod)
		first := test.first * cluster.Second
		if test.first == 0 {
			first = cluster.Never
		}
		if a := s.Account; a.Since != now || a.Waiting-test.of.Waiting != test.waiting*cluster.Second || a.Running-test.of.Running != test.running*cluster.Second || a.FirstRun != first {
			t.Errorf("who %s has the account %+v", test.name, a)
		}
	}
}

// Who fills a replica's place has the account of its own pod, else that of its name, else that which nobody has had for the longest; of its own class alone.
func TestWhoseAccount(t *testing.T) {
	l := &Ledger{journal: &journal{}, workloads: map[Workload]*workload{}, idle: map[string]int{}, times: Times{
		Account: func(cluster.TaskID, cluster.Seq) (*cluster.Account, cluster.Phase) { return nil, 0 },
	}}
	s := &slots{classes: &classes{ledger: l}}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-1", UID: "mine", OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: "db", Controller: new(true)}}}}
	spent := func(uid types.UID, name, class string, running cluster.Time) Spent {
		return Spent{Pod: uid, Name: name, Class: class, Phase: cluster.Gated, Account: cluster.Account{Running: running, Submitted: -10, FirstRun: -10}}
	}
	all := []Spent{spent("other", "db-1", "gold", 1), spent("", "db-0", "gold", 2), spent("", "db-1", "iron", 3), spent("", "db-1", "gold", 4), spent("mine", "db-9", "gold", 5)}
	l.Remember([]Standing{{Workload: WorkloadOf(pod), Replicas: all}}, func(uid types.UID) bool { return uid == "mine" || uid == "other" })
	p := &Pod{sight: sight{object: pod}, Ours: true}
	for _, want := range []cluster.Time{5, 4, 2} {
		got := s.reclaim(p, "gold")
		if got == nil || got.Account.Running != want {
			t.Fatalf("it has %+v, want that which ran for %v", got, want)
		}
	}
	if got := s.reclaim(p, "gold"); got != nil {
		t.Errorf("it has the account of another pod, or of another class: %+v", got)
	}
}

// A workload that was forgotten does not speak for another of its name, and one that is written often does not keep those behind it from being written while they wait.
func TestForgottenWorkloadsAreSilent(t *testing.T) {
	l := &Ledger{journal: &journal{}, workloads: map[Workload]*workload{}, idle: map[string]int{}, times: Times{
		Account: func(cluster.TaskID, cluster.Seq) (*cluster.Account, cluster.Phase) { return nil, 0 },
	}}
	waiting := func(name string) *Pod {
		p := &Pod{sight: sight{object: &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}}, Ours: true, slot: &slot{shape: &shape{demand: cluster.Vector{100}}}}
		l.open(p, true)
		return p
	}
	written := map[string]int{}
	pass := func(seconds int, each func()) {
		for range seconds {
			l.journal.now += cluster.Second
			each()
			for _, s := range l.Changed(false) {
				if written[s.Name]++; len(s.Replicas) == 0 {
					written[s.Name] = 0
				}
			}
		}
	}
	none := func() {}
	first := waiting("a")
	pass(10, none)
	first.slot.done = true
	l.close(first.slot)
	pass(10, none)
	if written["a"] != 0 || len(l.workloads) != 0 {
		t.Fatalf("a workload of which nothing is left was written %d times, and there are %d", written["a"], len(l.workloads))
	}
	again, quiet := waiting("a"), waiting("quiet")
	pass(120, again.slot.workload.touch)
	if written["a"] < 20 || written["quiet"] != 4 {
		t.Errorf("in two minutes one that changes was written %d times, want 20 and more, and one that waits %d times, want 4", written["a"], written["quiet"])
	}
	if quiet.slot.workload.written == 0 {
		t.Error("it was not written")
	}
}

// checkLedger holds the ledger to having each slot to which something is promised once, in its place, and to counting who has none.
func (r *rig) checkLedger() error {
	l, slots, idle := LedgerOf(r.world), 0, map[string]int{}
	for key, w := range l.workloads {
		vacant := 0
		for at, of := range w.slots {
			if of.workload != w || of.at != at || r.world.slots.byTask[of.task] != of {
				return fmt.Errorf("the ledger has slot %d of %v in place %d, which is %d of %v", of.task, key, at, of.at, of.workload.Workload)
			}
			if of.pod == nil {
				vacant++
			}
		}
		if len(w.vacant) != vacant || slices.ContainsFunc(w.vacant, func(o *slot) bool { return o.pod != nil }) || len(w.past) > mostPast || len(w.mine) > 0 {
			return fmt.Errorf("of %v %d slots are vacant, and the ledger has %d, %d past and %d remembered", key, vacant, len(w.vacant), len(w.past), len(w.mine))
		}
		slots += len(w.slots)
		if len(w.slots) == 0 {
			idle[key.Namespace]++
		}
	}
	if !maps.Equal(idle, l.idle) {
		return fmt.Errorf("%v workloads have no replica, and the ledger counts %v", idle, l.idle)
	}
	for _, of := range r.world.slots.byTask {
		if of == nil || of.pod != nil && !of.pod.Ours {
			continue
		}
		if promises := r.world.slots.classes.rows[of.class].class.Promises(); promises && of.workload == nil && of.pod != nil && !of.pod.lineage.succeeded {
			return fmt.Errorf("the ledger lacks slot %d", of.task)
		}
		if p := of.pod; p != nil && p.lineage.succeeded && (p.lineage.ending != nil || of.workload != nil) {
			return fmt.Errorf("another pod goes on from the account of %s, which has it as well", p.object.Name)
		}
		if of.workload != nil {
			slots--
		}
	}
	for of, ending := range l.ending {
		for _, p := range ending {
			if p.lineage.ending == nil || *p.lineage.ending != of || p.slot.pod != p || r.world.pods.byUID[p.object.UID] != p {
				return fmt.Errorf("%s is among those of %v that are ending", p.object.Name, of)
			}
		}
	}
	if slots != 0 {
		return fmt.Errorf("the ledger has %d slots more than there are", slots)
	}
	return nil
}

// What is remembered of pods is nobody's, in the order of their uids, once all pods that there are have been seen.
func TestSurveyed(t *testing.T) {
	l := &Ledger{journal: &journal{}, workloads: map[Workload]*workload{}, idle: map[string]int{}}
	of := Workload{"shop", "statefulset", "db"}
	uids := []types.UID{"c", "a", "b"}
	var all []Spent
	for _, uid := range uids {
		all = append(all, Spent{Pod: uid, Name: string(uid), Account: cluster.Account{Waiting: 1}})
	}
	l.Remember([]Standing{{Workload: of, Replicas: all}}, func(types.UID) bool { return true })
	w := l.workloads[of]
	if len(w.mine) != 3 || len(w.past) != 0 {
		t.Fatalf("%d are remembered of pods and %d of nobody, want 3 and 0", len(w.mine), len(w.past))
	}
	l.Surveyed()
	var names []string
	for _, spent := range w.past {
		names = append(names, spent.Name)
	}
	if len(w.mine) != 0 || !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("%d are remembered of pods, and %v of nobody, want 0 and [a b c]", len(w.mine), names)
	}
}

// A workload that was written is written again once accountsEvery has passed, and not a moment before; until then the ledger asks to be looked at each second.
func TestWorkloadsAreWrittenAgain(t *testing.T) {
	j := &journal{now: 100 * cluster.Second}
	l := &Ledger{journal: j, workloads: map[Workload]*workload{}, idle: map[string]int{}}
	if got := l.wake(); got != cluster.Never {
		t.Errorf("with nothing to write it wants to be called at %v", got)
	}
	w := l.of(Workload{"shop", "statefulset", "db"})
	w.keep(Spent{Name: "db-0", Account: cluster.Account{Waiting: 1}})
	for _, step := range []struct {
		now    cluster.Time
		writes int
	}{{100 * cluster.Second, 1}, {100*cluster.Second + accountsEvery - 1, 0}, {101*cluster.Second + accountsEvery - 1, 1}, {101*cluster.Second + 2*accountsEvery - 1, 1}} {
		j.now = step.now
		w.touch()
		if got, want := l.wake(), step.now+cluster.Second; got != want {
			t.Errorf("at %v it wants to be called at %v, want %v", step.now, got, want)
		}
		if got := l.Changed(false); len(got) != step.writes {
			t.Errorf("at %v %d workloads are written, want %d", step.now, len(got), step.writes)
		}
	}
}
