package plugin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"

	"fairlead.dev/fairlead/kube/api/v1alpha1"
)

// This file is what is written on a pod: what the scheduler has said of it last, its events, and how what was
// promised to it stands. It is read object by object, so that who may read a pod and not the cluster is told it, too.

// told is what is written on something.
type told struct {
	Name      string `json:"name"`      // pod shop/web-0
	Scheduler string `json:"scheduler"` // whose it is
	State     string `json:"state"`     // in words
	// NotListed is what the caller may not list, so that this is all that he is told.
	NotListed []string `json:"not_listed,omitempty"`
	// NotRead is what could not be read of it, and why.
	NotRead   []string       `json:"not_read,omitempty"`
	Condition *toldCondition `json:"condition,omitempty"`
	Events    []toldEvent    `json:"events,omitempty"`
	Promise   *promise       `json:"promise,omitempty"`
	Pods      []*told        `json:"pods,omitempty"` // of a group, those that wait first

	waits bool
	// undecided says why nothing is decided about it; empty if something is.
	undecided string
}

// toldCondition is what the scheduler has said of it last.
type toldCondition struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Ago     string `json:"ago"`
}

// toldEvent is an event about it that says something else.
type toldEvent struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Ago     string `json:"ago"`
	Times   int32  `json:"times"`
}

// toldOf reads what is written on a pod.
func (r *reader) toldOf(ctx context.Context, pod *v1.Pod) (*told, error) {
	t := r.toldOfPod(pod)
	if !t.waits {
		return t, r.account(ctx, t, pod)
	}
	list, err := r.client.Resource(v1.SchemeGroupVersion.WithResource("events")).Namespace(pod.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: "involvedObject.uid=" + string(pod.UID),
	})
	if err != nil {
		t.NotRead = append(t.NotRead, fmt.Sprintf("events: %v", err))
		return t, r.account(ctx, t, pod)
	}
	for i := range list.Items {
		event := &v1.Event{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, event); err != nil {
			return nil, err
		}
		if event.InvolvedObject.UID != pod.UID || t.Condition != nil && event.Message == t.Condition.Message {
			continue
		}
		t.Events = append(t.Events, toldEvent{event.Reason, event.Message, r.ago(lastSeen(event)), seen(event)})
	}
	return t, r.account(ctx, t, pod)
}

// lastSeen is when an event came last, and seen how often.
func lastSeen(e *v1.Event) time.Time {
	if e.Series != nil {
		return e.Series.LastObservedTime.Time
	}
	return slices.MaxFunc([]time.Time{e.EventTime.Time, e.LastTimestamp.Time, e.CreationTimestamp.Time}, time.Time.Compare)
}

func seen(e *v1.Event) int32 {
	if e.Series != nil {
		return e.Series.Count
	}
	return max(e.Count, 1)
}

// ago is how long before now something was.
func (r *reader) ago(t time.Time) string { return duration.HumanDuration(r.now.Sub(t)) }

// toldOfPod is what the pod itself says.
func (r *reader) toldOfPod(pod *v1.Pod) *told {
	t := &told{Name: subject{podKind, pod.Namespace, pod.Name}.String(), Scheduler: cmp.Or(pod.Spec.SchedulerName, v1.DefaultSchedulerName)}
	switch {
	case pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed:
		t.State = fmt.Sprintf("is done (%s)", pod.Status.Phase)
		t.undecided = "It waits for nothing, and takes no room."
	case pod.Spec.NodeName != "":
		t.State = "has its place on " + pod.Spec.NodeName
	case pod.DeletionTimestamp != nil:
		t.State, t.undecided = "is being deleted", "It gets no node any more."
	default:
		t.waits = true
		t.State = "waits since " + r.ago(pod.CreationTimestamp.Time)
		if s := t.Scheduler; s != v1.DefaultSchedulerName && !strings.HasPrefix(s, "fairlead") { // as a dump is read
			t.undecided = fmt.Sprintf("What %s decides Fairlead does not know.", s)
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodScheduled && c.Status == v1.ConditionFalse && t.waits {
			t.Condition = &toldCondition{c.Reason, c.Message, r.ago(c.LastTransitionTime.Time)}
		}
	}
	return t
}

// account adds how what was promised to the pod stands, by the account of its workload: the one that has a replica of its name.
func (r *reader) account(ctx context.Context, t *told, pod *v1.Pod) error {
	list, err := r.client.Resource(accounts()).Namespace(pod.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.NotRead = append(t.NotRead, fmt.Sprintf("what is promised to it: %v", err))
		return nil //nolint:nilerr // it is said
	}
	for i := range list.Items {
		account := &v1alpha1.WorkloadAccount{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, account); err != nil {
			return err
		}
		if slices.ContainsFunc(account.Status.Replicas, func(a v1alpha1.ReplicaAccount) bool { return a.UID == pod.UID }) {
			t.Promise = promiseOf(account)
		}
	}
	return nil
}

func accounts() schema.GroupVersionResource {
	return v1alpha1.GroupVersion.WithResource("workloadaccounts")
}

// write prints all that there is, in one of explain's forms.
func (t *told) write(out io.Writer, format string) error {
	if format == "json" {
		e := json.NewEncoder(out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(t)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", t.Name, t.State)
	if t.Scheduler != "" && t.waits {
		fmt.Fprintf(&b, "; scheduler %s", t.Scheduler)
	}
	b.WriteString("\n")
	if t.undecided != "" {
		fmt.Fprintf(&b, "%s\n", t.undecided)
	} else {
		fmt.Fprintf(&b, "You may not list %s, so that nodes are not compared here.\n", strings.Join(t.NotListed, ", nor "))
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return err
	}
	return t.writeOwn(out)
}

// mostTold is how many pods of a group are told of.
const mostTold = 3

// writeOwn prints what is written on it.
func (t *told) writeOwn(out io.Writer) error {
	var b strings.Builder
	if c := t.Condition; c != nil {
		fmt.Fprintf(&b, "\nThe scheduler says of it (%s, for %s):\n  %s\n", c.Reason, c.Ago, c.Message)
	} else if t.waits && t.Pods == nil {
		fmt.Fprintf(&b, "\nThe scheduler %s has said nothing of it yet.\n", t.Scheduler)
	}
	for _, e := range t.Events {
		times := ""
		if e.Times > 1 {
			times = fmt.Sprintf(", %d times", e.Times)
		}
		fmt.Fprintf(&b, "\nEvent %s, %s ago%s:\n  %s\n", e.Reason, e.Ago, times, e.Message)
	}
	for i, p := range t.Pods {
		if i == mostTold || !p.waits {
			break
		}
		fmt.Fprintf(&b, "\n%s %s", p.Name, p.State)
		if c := p.Condition; c != nil {
			fmt.Fprintf(&b, " (%s):\n  %s", c.Reason, c.Message)
		}
		b.WriteString("\n")
	}
	if p := t.Promise; p != nil {
		fmt.Fprintf(&b, "\n%s\n", p.sentence())
	}
	for _, what := range t.NotRead {
		fmt.Fprintf(&b, "\nNot read: %s\n", what)
	}
	_, err := io.WriteString(out, b.String())
	return err
}
