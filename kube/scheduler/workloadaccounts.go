package scheduler

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/api/v1alpha1"
	"fairlead.dev/fairlead/kube/world"
)

// This file writes how workloads stand into WorkloadAccounts, and reads these before a leader's first round.

const (
	// mostSpent bounds what is read of an account, as its schema does.
	mostSpent = 100 * 365 * cluster.Day
	// mostMillicores bounds what it asks for.
	mostMillicores = 1 << 50
	// mostOthers bounds how many replicas have an account together, in the same way.
	mostOthers = 150_000
	// lastAccounts is how long a scheduler that stops writes accounts.
	lastAccounts = 2 * time.Second
	// mostReplicas is how many replicas have an account of their own in one, as its schema has it.
	mostReplicas = 256
	// accountsPage is how many are listed at once, and accountsAgain the pause before that is tried again.
	accountsPage  = 500
	accountsAgain = time.Second
)

// WorkloadAccounts is the type of these objects.
func WorkloadAccounts() schema.GroupVersionResource {
	return v1alpha1.GroupVersion.WithResource("workloadaccounts")
}

// timesOf is what the world's ledger has to know; nothing where no accounts are written.
func timesOf(s *Scheduler) world.Times {
	if s.WorkloadAccounts == nil {
		return world.Times{}
	}
	return world.Times{
		Account: func(row cluster.TaskID, seq cluster.Seq) (*cluster.Account, cluster.Phase) {
			if s.epochs.core == nil || int(row) >= s.epochs.core.View().TaskRows() {
				return nil, cluster.Absent
			}
			task := s.epochs.core.View().Task(row)
			if task.Seq != seq || task.Phase == cluster.Absent {
				return nil, cluster.Absent
			}
			account := task.Account.At(s.now(), task.Phase)
			return &account, task.Phase
		},
		At: func(t metav1.Time) cluster.Time { return sinceBegan(s, t.Time) },
	}
}

// sinceBegan is a moment as the core counts it, and moment the other way round.
func sinceBegan(s *Scheduler, t time.Time) cluster.Time {
	return cluster.Time(t.Sub(s.began) / time.Microsecond)
}

func moment(s *Scheduler, t cluster.Time) metav1.MicroTime {
	return metav1.NewMicroTime(s.began.Add(time.Duration(t) * time.Microsecond).UTC())
}

// remember reads all accounts, before any pod is taken in, and tries again until it is heard: to begin without them would overwrite them.
func remember(ctx context.Context, s *Scheduler) error {
	if s.WorkloadAccounts == nil {
		return nil
	}
	for {
		standing, err := listAccounts(ctx, s)
		if err == nil {
			pods := s.intake.informers.Core().V1().Pods().Lister()
			there := map[types.UID]bool{}
			for _, p := range listed(pods.List(labels.Everything())) {
				there[p.UID] = p.Status.Phase != v1.PodSucceeded && p.Status.Phase != v1.PodFailed
			}
			world.LedgerOf(s.world).Remember(standing, func(uid types.UID) bool { return there[uid] })
			return nil
		}
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("the API server does not serve %s, which it did not say at the start; ending, to begin anew without them: %w", WorkloadAccounts().GroupResource(), err)
		}
		klog.FromContext(ctx).Error(err, "The accounts of workloads cannot be read; nothing is decided until they are")
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.Clock.After(accountsAgain):
		}
	}
}

// listAccounts lists all accounts.
func listAccounts(ctx context.Context, s *Scheduler) (all []world.Standing, err error) {
	next := ""
	for {
		list, err := s.WorkloadAccounts.Resource(WorkloadAccounts()).List(ctx, metav1.ListOptions{Limit: accountsPage, Continue: next})
		if apierrors.IsResourceExpired(err) { // what was listed is too old to go on with
			all, next = nil, ""
			continue
		}
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			account := &v1alpha1.WorkloadAccount{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, account); err != nil {
				// Somebody else has written it. Nobody is to wait for him.
				klog.FromContext(ctx).Error(err, "The account of a workload cannot be read, and begins anew", "account", klog.KObj(&list.Items[i]))
				continue
			}
			if account.Status.Kind == "" { // it was created, and not written
				continue
			}
			standing := standingOf(s, account)
			if c := meta.FindStatusCondition(account.Status.Conditions, v1alpha1.EnoughReplicas); c != nil {
				s.explainer.enough[standing.Workload] = *c
			}
			all = append(all, standing)
		}
		if next = list.GetContinue(); next == "" {
			return all, nil
		}
	}
}

// standingOf is how a workload stood.
func standingOf(s *Scheduler, account *v1alpha1.WorkloadAccount) world.Standing {
	status := &account.Status
	at := min(sinceBegan(s, status.ObservedAt.Time), s.now()) // clocks of machines differ
	standing := world.Standing{Workload: world.Workload{Namespace: account.Namespace, Kind: status.Kind, Name: status.Name}}
	for i := range status.Replicas {
		r := &status.Replicas[i]
		spent := spentOf(&r.Spent, at)
		spent.Pod, spent.Name, spent.Class, spent.Phase = r.UID, r.Pod, r.Class, phaseOf(r.State)
		spent.Account.Submitted = max(min(sinceBegan(s, r.Submitted.Time), spent.Account.Submitted), spent.Account.Submitted-mostSpent)
		if r.AbsentSince != nil {
			spent.Until = min(sinceBegan(s, r.AbsentSince.Time), at) + world.AccountsLast
		}
		if r.FirstRun != nil {
			spent.Account.FirstRun = min(max(sinceBegan(s, r.FirstRun.Time), spent.Account.Submitted), at)
		}
		standing.Replicas = append(standing.Replicas, spent)
	}
	if o := status.Others; o != nil && o.Count > 0 {
		count := min(int64(o.Count), mostOthers)
		each := v1alpha1.Spent{
			WaitingMicroseconds: o.WaitingMicroseconds / count, RunningMicroseconds: o.RunningMicroseconds / count,
			OverheadMicroseconds: o.OverheadMicroseconds / count, RestartingMicroseconds: o.RestartingMicroseconds / count,
			Millicores: o.Millicores / count,
		}
		for i := range count {
			spent := spentOf(&each, at)
			spent.Class, spent.Phase, spent.Preemptions = status.Class, cluster.Gated, o.Preemptions/int32(count)
			if i == 0 {
				spent.Preemptions += o.Preemptions % int32(count)
			}
			standing.Replicas = append(standing.Replicas, spent)
		}
	}
	return standing
}

// spentOf is an account that is as old as its parts.
func spentOf(of *v1alpha1.Spent, at cluster.Time) world.Spent {
	bounded := func(microseconds int64) cluster.Time { return min(max(cluster.Time(microseconds), 0), mostSpent) }
	a := cluster.Account{
		Since: at, FirstRun: cluster.Never,
		Waiting: bounded(of.WaitingMicroseconds), Running: bounded(of.RunningMicroseconds), Overhead: bounded(of.OverheadMicroseconds),
	}
	a.Restarting = min(bounded(of.RestartingMicroseconds), a.Overhead)
	a.Submitted = at - a.Age()
	if a.Running+a.Restarting > 0 {
		a.FirstRun = a.Submitted
	}
	return world.Spent{Account: a, Preemptions: of.Preemptions, Millicores: min(max(of.Millicores, 0), mostMillicores)}
}

const (
	stateWaiting, stateStarting, stateRunning, stateAbsent = "Waiting", "Starting", "Running", "Absent"
)

func stateOf(p cluster.Phase) string {
	switch p {
	case cluster.Waiting, cluster.Reserved:
		return stateWaiting
	case cluster.Starting, cluster.Leaving:
		return stateStarting
	case cluster.Running:
		return stateRunning
	default:
		return stateAbsent
	}
}

func phaseOf(state string) cluster.Phase {
	switch state {
	case stateWaiting:
		return cluster.Waiting
	case stateStarting:
		return cluster.Starting
	case stateRunning:
		return cluster.Running
	default:
		return cluster.Gated
	}
}

// writeAccounts has those written that have changed.
func writeAccounts(s *Scheduler) {
	if s.WorkloadAccounts == nil || s.epochs.core == nil || s.epochs.mistakes.broken {
		return
	}
	for _, a := range changedAccounts(s, false) {
		s.explainer.writer.put(condition{written: a})
	}
}

// flushAccounts writes those that have changed until now, one after the other, for as long as a scheduler that stops has time.
func flushAccounts(s *Scheduler) {
	if s.WorkloadAccounts == nil || s.epochs.core == nil || s.epochs.mistakes.broken {
		return
	}
	until := s.Clock.Now().Add(lastAccounts)
	for _, a := range changedAccounts(s, true) {
		if s.Clock.Now().After(until) {
			return
		}
		a.write(s)
	}
}

// changedAccounts are those that are to be written.
func changedAccounts(s *Scheduler, last bool) (all []*account) {
	known := map[string]cluster.Class{}
	for _, standing := range world.LedgerOf(s.world).Changed(last) {
		if len(known) == 0 {
			for _, c := range s.epochs.core.View().Classes() {
				known[c.Name] = c
			}
		}
		a := &account{workload: standing.Workload}
		if len(standing.Replicas) > 0 {
			a.status = accountOf(s, &standing, known)
		} else {
			delete(s.explainer.enough, standing.Workload)
		}
		all = append(all, a)
	}
	return all
}

// accountOf is what is written of a workload, whose classes are among those that are known.
func accountOf(s *Scheduler, standing *world.Standing, known map[string]cluster.Class) *v1alpha1.WorkloadAccountStatus {
	status := &v1alpha1.WorkloadAccountStatus{Kind: standing.Kind, Name: standing.Name, ObservedAt: moment(s, s.now())}
	var total cluster.Account
	var most *cluster.Class
	slack := cluster.Never
	for i := range standing.Replicas {
		r := &standing.Replicas[i]
		status.Preemptions += int64(r.Preemptions)
		if class, is := known[r.Class]; is && class.Promises() {
			if most == nil || class.Importance < most.Importance {
				status.Class, most = r.Class, &class
			}
			if left := class.Slack(r.Account); i < standing.Live {
				slack = min(slack, left)
				if left < 0 {
					status.AtRisk++
				}
			}
		}
		if i < standing.Live {
			total.Waiting += r.Account.Waiting
			total.Running += r.Account.Running
			total.Overhead += r.Account.Overhead
			total.Restarting += r.Account.Restarting
		}
		addReplica(s, status, r)
	}
	reportEnough(s, standing, known, status)
	if most != nil {
		status.Target = fmt.Sprint(most.Availability)
	}
	if standing.Live > 0 {
		status.Available = fmt.Sprint(total.Availability())
		// A share is of so many parts that these times may be counted in seconds.
		status.Overhead = fmt.Sprint(cluster.Share(int64(cluster.Whole) * int64(total.Restarting/cluster.Second) / max(int64(total.Age()/cluster.Second), 1)))
	}
	bill(s, standing, status)
	if slack != cluster.Never {
		status.Slack = (time.Duration(slack) * time.Microsecond).Round(time.Second).String()
	}
	return status
}

// reportEnough says whether the workload has as many pods at once as its class says, where that says more than one.
func reportEnough(s *Scheduler, standing *world.Standing, known map[string]cluster.Class, status *v1alpha1.WorkloadAccountStatus) {
	var class cluster.Class
	has := int32(0)
	for i := range standing.Replicas[:standing.Live] {
		if of := known[standing.Replicas[i].Class]; of.Replicas > class.Replicas {
			class = of
		}
		if standing.Replicas[i].Pod != "" {
			has++
		}
	}
	if class.Replicas <= 1 {
		delete(s.explainer.enough, standing.Workload)
		return
	}
	now := metav1.Condition{
		Type: v1alpha1.EnoughReplicas, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonEnough, LastTransitionTime: metav1.NewTime(s.Clock.Now()),
		Message: fmt.Sprintf("ServiceClass %s wants %d pods at once, and there are %d.", class.Name, class.Replicas, has),
	}
	if has < class.Replicas {
		now.Status, now.Reason = metav1.ConditionFalse, v1alpha1.ReasonTooFew
		now.Message += fmt.Sprintf(" Scale the %s %s.", standing.Kind, standing.Name)
	}
	if before := s.explainer.enough[standing.Workload]; before.Status == now.Status {
		now.LastTransitionTime = before.LastTransitionTime
	}
	s.explainer.enough[standing.Workload] = now
	if status.Class == "" {
		status.Class = class.Name
	}
	status.Conditions = []metav1.Condition{now}
}

// addReplica adds an account of its own, or what it comes to beyond the most that there are.
func addReplica(s *Scheduler, status *v1alpha1.WorkloadAccountStatus, r *world.Spent) {
	a := &r.Account
	spent := v1alpha1.Spent{
		WaitingMicroseconds: int64(a.Waiting), RunningMicroseconds: int64(a.Running), OverheadMicroseconds: int64(a.Overhead), RestartingMicroseconds: int64(a.Restarting),
		Preemptions: r.Preemptions, Millicores: min(r.Millicores, mostMillicores),
	}
	if len(status.Replicas) < mostReplicas {
		one := v1alpha1.ReplicaAccount{Pod: r.Name, UID: r.Pod, Class: r.Class, State: stateOf(r.Phase), Submitted: moment(s, a.Submitted), Spent: spent}
		if a.FirstRun != cluster.Never {
			first := moment(s, a.FirstRun)
			one.FirstRun = &first
		}
		if r.Until != 0 {
			since := moment(s, r.Until-world.AccountsLast)
			one.AbsentSince = &since
		}
		status.Replicas = append(status.Replicas, one)
		return
	}
	if status.Others == nil {
		status.Others = &v1alpha1.OtherReplicas{}
	}
	o := status.Others
	o.Count++
	o.WaitingMicroseconds += spent.WaitingMicroseconds
	o.RunningMicroseconds += spent.RunningMicroseconds
	o.OverheadMicroseconds += spent.OverheadMicroseconds
	o.RestartingMicroseconds += spent.RestartingMicroseconds
	o.Preemptions += spent.Preemptions
	o.Millicores = min(o.Millicores+spent.Millicores, mostMillicores)
}

// account is what is written of a workload: its status, or nil if it is forgotten.
type account struct {
	workload world.Workload
	status   *v1alpha1.WorkloadAccountStatus
}

// name is that of the object, by kind and name of the workload; a hash of these where they are none, as who makes a pod may write any kind of owner.
func (a *account) name() string {
	name := a.workload.Kind + "." + a.workload.Name
	if len(validation.IsDNS1123Subdomain(name)) == 0 {
		return name
	}
	return fmt.Sprintf("workload-%x", sha256.Sum256([]byte(name)))
}

// key is by which one write of an account follows the other.
func (a *account) key() types.UID { return types.UID(a.workload.Namespace + "/" + a.name()) }

// unwritten has it said again.
func (a *account) unwritten(s *Scheduler) { world.LedgerOf(s.world).Unwritten(a.workload) }

// write writes the status, and creates the object if it is not there. It reports whether that needs no repetition.
func (a *account) write(s *Scheduler) bool {
	if _, err := held(s); err != nil { // another leads, and writes them
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.Config.BindTimeout.Duration)
	defer cancel()
	of := s.WorkloadAccounts.Resource(WorkloadAccounts()).Namespace(a.workload.Namespace)
	if a.status == nil {
		err := of.Delete(ctx, a.name(), metav1.DeleteOptions{})
		s.Metrics.Binds.Wrote("workloadaccounts", "delete", outcome(err))
		return err == nil || apierrors.IsNotFound(err)
	}
	err := a.patch(ctx, s, of)
	if apierrors.IsNotFound(err) {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": v1alpha1.GroupVersion.String(), "kind": "WorkloadAccount", "metadata": map[string]any{"name": a.name()},
		}}
		_, err = of.Create(ctx, object, metav1.CreateOptions{})
		s.Metrics.Binds.Wrote("workloadaccounts", "create", outcome(err))
		if err == nil || apierrors.IsAlreadyExists(err) {
			err = a.patch(ctx, s, of)
		}
	}
	// A namespace that is being deleted takes its accounts with it.
	done := err == nil || apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, "NamespaceTerminating")
	if apierrors.IsInvalid(err) {
		klog.Background().Error(err, "The account of a workload is refused, and is not written; are the definitions in kube/deploy/api those of this version?", "account", klog.KRef(a.workload.Namespace, a.name()))
		return true
	}
	if !done {
		klog.Background().V(1).Info("cannot write how a workload stands", "account", klog.KRef(a.workload.Namespace, a.name()), "err", err)
	}
	return done
}

// patch replaces the status as a whole.
func (a *account) patch(ctx context.Context, s *Scheduler, of dynamic.ResourceInterface) error {
	patch, err := json.Marshal([]map[string]any{{"op": "add", "path": "/status", "value": a.status}})
	if err != nil {
		panic(fmt.Sprintf("scheduler: a status does not marshal: %v", err))
	}
	_, err = of.Patch(ctx, a.name(), types.JSONPatchType, patch, metav1.PatchOptions{}, "status")
	s.Metrics.Binds.Wrote("workloadaccounts/status", "patch", outcome(err))
	return err
}
