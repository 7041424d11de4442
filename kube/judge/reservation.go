package judge

// From commit to bind: volumes that wait for their first consumer and resource claims must be reserved for the pod and written to the API server before
// it is bound. A reservation holds the plugins' state for one pod, so that it can be carried to the goroutine that binds while the loop goes on.

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// Reservation is a pod on its way to a node. Its methods may run on any goroutine, one at a time.
type Reservation struct {
	judge *Judge
	// state is nil for a pod that no plugin reserves anything for.
	state fwk.CycleState
	pod   *v1.Pod
	node  string
	// claims are its claims of devices, as they were before.
	claims []podClaim
	part   part
}

// SetsAside reports whether Reserve sets anything aside for the pod.
func (j *Judge) SetsAside(pod *v1.Pod) bool { return j.personal(pod) }

// Reserve lets the plugins set aside for the pod what it needs on the node, after LastWord said yes to the same pod and node. It comes before AddPod, as
// it runs every filter once more, unless LastWord was the last thing that was asked. On a refusal everything is given back already and there is no reservation; one that is
// Pending says nothing of the pod, which is to come again a little later.
func (j *Judge) Reserve(ctx context.Context, c *Case, pod *v1.Pod, node string) (*Reservation, *fwk.Status) {
	if !j.SetsAside(pod) {
		return &Reservation{judge: j, pod: pod, node: node}, nil
	}
	// The state must be this pod's own and must have passed Filter on this node, where VolumeBinding finds the volumes.
	if c.upkeep.stale || c.choice != nil || c.passed != (passage{pod.UID, node, j.reservations}) {
		if status := c.LastWord(pod, node); !status.IsSuccess() {
			return nil, status
		}
	}
	// Plugins read the node from the pod, as upstream's assumed pod has it.
	assumed := *pod // of which they change nothing
	assumed.Spec.NodeName = node
	r := &Reservation{judge: j, state: c.state, pod: &assumed, node: node, claims: claimsOf(j, pod)}
	if !r.enter() {
		return nil, fwk.NewStatus(fwk.Pending, "a resource claim of its group is being written, or given back").WithPlugin(names.DynamicResources)
	}
	// The case gets a state of its own at its next query; this one belongs to the reservation from now on.
	c.upkeep.stale = true
	j.reservations++
	if err := r.follow(); err != nil {
		r.Unreserve(ctx)
		return nil, fwk.NewStatus(fwk.Unschedulable, err.Error()).WithPlugin(names.DynamicResources)
	}
	if status := j.full.RunReservePluginsReserve(ctx, r.state, r.pod, node); !status.IsSuccess() {
		r.Unreserve(ctx)
		return nil, status
	}
	r.lead()
	return r, nil
}

// Empty reports whether nothing was set aside, so that PreBind has nothing to wait for.
func (r *Reservation) Empty() bool { return r.state == nil }

// PreBind writes what was reserved to the API server and waits for what must happen there before the pod can be bound, which may take minutes for a new
// volume, and until others of its company have written claims that the pod shares with them. On a failure the caller calls Unreserve.
func (r *Reservation) PreBind(ctx context.Context) *fwk.Status {
	if r.state == nil {
		return nil
	}
	done, err := r.part.await(ctx)
	if err != nil {
		return fwk.AsStatus(err)
	}
	defer done()
	status := r.preBind(ctx)
	r.part.settle(status.IsSuccess())
	if status.IsSuccess() {
		r.judge.usage.prepared(r.claims)
	}
	return status
}

func (r *Reservation) preBind(ctx context.Context) *fwk.Status {
	status := r.judge.full.RunPreBindPreFlights(ctx, r.state, r.pod, r.node)
	if status.IsSkip() {
		return nil
	}
	if !status.IsSuccess() {
		return status
	}
	return r.judge.full.RunPreBindPlugins(ctx, r.state, r.pod, r.node)
}

// Unreserve gives back what was reserved.
func (r *Reservation) Unreserve(ctx context.Context) {
	if r.state != nil {
		defer r.judge.usage.leave(r.claims)
		r.unreserve(ctx)
	}
}

func (r *Reservation) unreserve(ctx context.Context) {
	r.part.settle(false)
	r.judge.full.RunReservePluginsUnreserve(ctx, r.state, r.pod, r.node)
}

// PostBind reports to the plugins that the pod is bound.
func (r *Reservation) PostBind(ctx context.Context) {
	if r.state != nil {
		defer r.judge.usage.leave(r.claims)
		r.judge.full.RunPostBindPlugins(ctx, r.state, r.pod, r.node)
	}
}
