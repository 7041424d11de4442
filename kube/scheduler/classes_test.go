package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/world"
)

// ofClass is a pod whose label names its class.
func ofClass(i int, name string) *v1.Pod {
	p := plainPod(i)
	p.Labels[world.ClassLabel] = name
	return p
}

// promising is a table of these classes, each with an availability.
func promising(availability string, names ...string) *class.Table {
	text := "classes:\n"
	for _, name := range names {
		text += fmt.Sprintf("- {name: %s, availability: %s}\n", name, availability)
	}
	table, err := class.Decode("table", []byte(text))
	if err != nil {
		panic(err)
	}
	return table
}

// liveClasses are the classes of the core.
func (b *bubble) liveClasses() string {
	var list []string
	for row, c := range b.epochs.core.View().Classes() {
		if b.epochs.core.View().ClassLive(cluster.ClassID(row)) {
			list = append(list, fmt.Sprint(c.Name, " ", c.Availability))
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// classOf is the class that the core has for the pod's task, and how long that ran.
func (b *bubble) classOf(uid types.UID) (string, cluster.Time) {
	task := b.epochs.core.View().Task(b.world.Pod(uid).Task())
	return b.epochs.core.View().Classes()[task.Class].Name, task.Account.At(b.now(), task.Phase).Running
}

// Classes that change while the scheduler runs reach the core that there is: accounts count
// on, and what is recorded replays.
func TestClassesChangeUnderWay(t *testing.T) {
	dir := t.TempDir()
	inBubble(t, []runtime.Object{bigNode(0), ofClass(1, "gold")}, func(b *bubble) {
		t := b.t
		b.Config.Record.Path = dir
		b.SetClasses(promising("99%", "gold", "silver")) // of a replica that does not lead
		b.run()
		b.pass(10 * time.Second)
		if got := b.liveClasses(); got != "gold 0.99, silver 0.99" {
			t.Errorf("a new leader has %s, want what it was told before", got)
		}
		b.SetClasses(promising("90%", "gold", "iron"))
		b.pass(10 * time.Second) // nothing else happens
		if got := b.liveClasses(); got != "gold 0.9, iron 0.9" {
			t.Errorf("the core has %s", got)
		}
		if name, ran := b.classOf("uid-1"); name != "gold" || ran < 19*cluster.Second {
			t.Errorf("the pod's slot is of class %s and ran %v, want an account that counts on", name, ran)
		}
		b.create(ofClass(2, "iron"))
		b.pass(time.Second)
		b.expectBound("pod-1 pod-2")
		if name, _ := b.classOf("uid-2"); name != "iron" {
			t.Errorf("the new pod's slot is of class %s", name)
		}
		if epochs, changes := b.sum("fairlead_epochs_total"), b.sum("fairlead_class_changes_total", "taken"); epochs != 1 || changes != 2 {
			t.Errorf("%v cores for %v changes of classes, want 1 for 2", epochs, changes)
		}
	})
	expectReplay(t, dir, 2)
}

// What was set under way holds after a panic, too.
func TestClassesOutliveAPanic(t *testing.T) {
	inBubble(t, []runtime.Object{bigNode(0)}, func(b *bubble) {
		t := b.t
		b.subject.before = func(o metav1.Object) {
			if o.GetName() == "pod-2" {
				panic("planted")
			}
		}
		b.run()
		b.SetClasses(promising("90%", "iron"))
		b.pass(time.Second)
		b.create(plainPod(2))
		b.pass(time.Second)
		if got := b.liveClasses(); got != "iron 0.9" || b.sum("fairlead_epochs_total") != 2 {
			t.Errorf("after a panic the core has %s", got)
		}
	})
}

// A table for which there are too few rows, beside the classes that pods still have, waits
// until these are gone; the classes before hold meanwhile.
func TestTooManyClassesWait(t *testing.T) {
	inBubble(t, []runtime.Object{bigNode(0), ofClass(1, "gold")}, func(b *bubble) {
		t := b.t
		b.SetClasses(promising("99%", "gold"))
		b.run()
		b.pass(time.Second)
		var names []string
		for i := range cluster.MaxClasses {
			names = append(names, fmt.Sprint("class-", i))
		}
		b.SetClasses(promising("90%", names...))
		b.pass(time.Second)
		b.create(plainPod(2)) // another turn
		b.pass(time.Second)
		if got := b.liveClasses(); got != "gold 0.99" || b.sum("fairlead_class_changes_total", "delayed") != 1 {
			t.Errorf("with too few rows the core has %s; said %v times", got, b.sum("fairlead_class_changes_total", "delayed"))
		}
		for _, pod := range []string{"pod-1", "pod-2"} {
			if err := b.api.Tracker().Delete(v1.SchemeGroupVersion.WithResource("pods"), "default", pod); err != nil {
				t.Fatal(err)
			}
		}
		b.pass(time.Hour)
		if got := strings.Split(b.liveClasses(), ", "); len(got) != cluster.MaxClasses || slices.Contains(got, "gold 0.99") {
			t.Errorf("when its pods are gone, the core has %d classes, %v first", len(got), got[0])
		}
	})
}
