package world

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// This file keeps slots. A slot is one of the replicas that an owner wants, and
// is the core's task: it outlives its pods, so that what a replica was promised
// is accounted for across them. A pod that is gone, other than by finishing,
// leaves its slot vacant; the owner's next pod takes it. A slot that stays
// vacant for long was scaled away, and ends. A pod that comes while another of its
// owner is ending, and still takes its room, has a slot of its own that goes on from that one's
// account (succession.go); the slot of the one that is ending ends with it.

const vacancyLasts = 5 * cluster.Minute

// jobKey is equal for the pods of a job: those of an owner, of a group, or of a Service, that one profile places.
type jobKey struct {
	scheduler string
	owner     types.UID // its Service, or itself, of a pod without one; empty of one with a group
	gang      *Gang
	system    bool // of pods of no group: the cluster needs them, as their priority says
	ends      bool // of a Service's: its pods are over when their containers are
	bound     bool // by constraints that objects say
}

type job struct {
	key    jobKey
	row    cluster.JobID
	slots  int
	vacant []vacancy // the longest vacant first
}

type slot struct {
	task     cluster.TaskID
	seq      cluster.Seq
	job      *job
	shape    *shape
	class    cluster.ClassID
	priority int32
	replica  string       // the pod's name where the owner gives it a meaning
	pod      *Pod         // nil while vacant
	until    cluster.Time // when it ends, while vacant

	begun       *cluster.Account // with which it began; nil if it was new
	name        string           // of its class
	workload    *workload        // that keeps its account; nil if nothing is promised to it
	at          int              // its place there
	preemptions int32            // of its pods
	done        bool             // it ends as its work is done, or goes on in another slot
}

// vacancy is a slot that is vacant until it ends.
type vacancy struct {
	slot    *slot
	until   cluster.Time
	evicted bool // by us, so that its owner wanted it all the time
}

// slots keeps the slots of all owners, as the core has them: by row of the task, and in jobs. A
// slot has one pod, or is vacant; it counts for its job, its shape and its class until it ends.
type slots struct {
	journal  *journal
	classes  *classes
	shapes   *shapes
	jobs     map[jobKey]*job
	services services
	foreign  [2]*job  // of other schedulers: those whose pods are never evicted, and those whose pods may be
	byTask   []*slot  // by task row
	runs     []uint32 // by task row: how many runs the row has had
	vacant   []vacancy
	seq      cluster.Seq
	// evictable says of a schedulerName whether its pods may be evicted, those of the system or others.
	evictable func(schedulerName string, system bool) bool
	yieldsTo  func(*Pod) uint8 // one more than the lane that may evict a pod of another scheduler; 0 if none may
	abandoned func(*Gang)      // is told of a gang of which the core has no job any more

	taskRows, jobRows cluster.Rows
}

// begin forgets all slots and their classes and shapes, for a new core.
func (s *slots) begin() {
	s.classes.ledger.suspend()
	s.jobs, s.foreign, s.byTask, s.runs, s.vacant = map[jobKey]*job{}, [2]*job{}, nil, nil, nil
	s.taskRows, s.jobRows = cluster.Rows{}, cluster.Rows{}
	s.classes.begin()
	s.shapes.begin()
}

// jobOf returns the job that the pod is a part of.
func (s *slots) jobOf(p *Pod) *job {
	if !p.Ours {
		return s.foreignJob(s.yieldsTo(p))
	}
	if p.object.Spec.NodeName != "" { // it was never sorted
		p.bound = s.binds(p)
	}
	owner, key := metav1.GetControllerOfNoCopy(p.object), jobKey{scheduler: p.object.Spec.SchedulerName, owner: p.object.UID, gang: p.Gang(), system: p.group == nil && isSystem(p), bound: p.bound}
	var service *v1.Service
	switch {
	case p.group != nil:
		key.owner = ""
	case owner != nil:
		key.owner = owner.UID
	default:
		if service = s.services.of(p.object); service != nil {
			key.owner, key.ends = serviceKey(service), !stays(p.object)
		}
	}
	j := s.jobs[key]
	if j == nil {
		j = &job{key: key, row: cluster.JobID(s.jobRows.Take())}
		s.jobs[key] = j
		name := fmt.Sprintf("%s/unowned-%d", p.object.Namespace, j.row) // recordings have jobs by name, and name no pods
		made := cluster.JobSubmitted{Job: j.row, User: key.scheduler, LongRunning: p.bound, Loose: p.bound, Service: stays(p.object), Disruption: s.disruption(j)}
		switch {
		case p.group != nil:
			key.gang.jobs = append(key.gang.jobs, j)
			name, made.Gang = key.gang.name, key.gang.least
		case owner != nil:
			name = p.object.Namespace + "/" + owner.Name
		case service != nil:
			name = p.object.Namespace + "/" + service.Name
		}
		made.Name = name
		s.journal.emit(made)
	}
	return j
}

// foreignJob is that of pods of other schedulers, which yield to one lane or to none.
func (s *slots) foreignJob(yields uint8) *job {
	at, name := 0, "other schedulers"
	if yields > 0 {
		at, name = 1, "other schedulers, evicted"
	}
	if s.foreign[at] == nil {
		s.foreign[at] = &job{row: cluster.JobID(s.jobRows.Take())}
		s.journal.emit(cluster.JobSubmitted{Job: s.foreign[at].row, Name: name, Foreign: true, Yields: yields})
	}
	return s.foreign[at]
}

// disruption is how pods of the job may be evicted.
func (s *slots) disruption(j *job) cluster.Disruption {
	switch {
	case !s.evictable(j.key.scheduler, j.key.system):
		return cluster.DisruptNever
	case j.key.gang != nil && j.key.gang.together:
		return cluster.DisruptTogether
	}
	return cluster.DisruptSingly
}

// stays reports whether the pod goes on until somebody deletes it: its containers are started again whenever they end.
func stays(pod *v1.Pod) bool {
	return pod.Spec.RestartPolicy == v1.RestartPolicyAlways || pod.Spec.RestartPolicy == "" // which is what the API server makes of it
}

// occupy gives the pod a slot: a vacant one of its job, or a new one, gated.
func (s *slots) occupy(p *Pod, shape *shape) {
	j := s.jobOf(p)
	promised, _ := s.classes.promised(p)
	isNew := p.class == ""
	p.class = s.classes.rows[promised].class.Name
	if v := j.claim(p, promised); v.slot != nil {
		p.slot = v.slot
		p.slot.pod = p
		if v.evicted {
			p.lineage.waited = s.journal.now - (v.until - vacancyLasts)
		}
		p.slot.workload.fill(p.slot)
		s.classes.ledger.open(p, s.classes.rows[promised].accounted())
		s.reshape(p, shape)
		return
	}
	shape.tasks++ // before another slot of it may end
	twin := s.vacateTwin(p, j, promised)
	displaced := isNew && !twin && succeed(s.classes.ledger, p, promised)
	if p.lineage.past == nil && !p.lineage.succeeded {
		if spent := s.reclaim(p, p.class); spent != nil {
			p.lineage.past, p.lineage.preemptions = &spent.Account, spent.Preemptions
		}
	}
	p.slot = &slot{
		task: cluster.TaskID(s.taskRows.Take()), seq: s.seq, job: j, shape: shape, class: promised,
		priority: p.priority(), replica: p.object.Name, pod: p, name: p.class, preemptions: p.lineage.preemptions, begun: p.lineage.past,
	}
	p.lineage.preemptions = 0
	s.classes.ledger.open(p, s.classes.rows[promised].accounted())
	s.seq++
	s.classes.rows[promised].slots++
	j.slots++
	for int(p.slot.task) >= len(s.byTask) {
		s.byTask = append(s.byTask, nil)
		s.runs = append(s.runs, 0)
	}
	s.byTask[p.slot.task] = p.slot
	s.journal.emit(cluster.TaskSubmitted{
		Task: p.slot.task, Seq: p.slot.seq, Job: j.row, Shape: shape.row, Class: promised, Priority: p.slot.priority, Gated: true, Account: p.lineage.past,
		Displaced: displaced,
	})
	p.lineage.past = nil
}

// vacateTwin ends a vacant slot of the pods of the same owner that constraints bind if they do not bind this one, or the other way round, so that the pod goes on from its account. It
// reports whether there was one.
func (s *slots) vacateTwin(p *Pod, j *job, promised cluster.ClassID) bool {
	key := j.key
	key.bound = !key.bound
	twin := s.jobs[key]
	if twin == nil || p.lineage.past != nil {
		return false
	}
	of := twin.claim(p, promised).slot
	if of == nil {
		return false
	}
	of.until = 0
	s.end(of)
	return true
}

// claim takes the vacant slot that the pod fills: of the same name if there is
// one, as a StatefulSet's, and else the one that has been vacant the longest. To the
// slot's pods the same was promised.
func (j *job) claim(p *Pod, promised cluster.ClassID) vacancy {
	at := -1
	for i, v := range j.vacant {
		named := v.slot.replica == p.object.Name
		if v.slot.class == promised && (named || at < 0) {
			at = i
		}
		if v.slot.class == promised && named {
			break
		}
	}
	if at < 0 {
		return vacancy{}
	}
	v := j.vacant[at]
	j.vacant = append(j.vacant[:at], j.vacant[at+1:]...)
	v.slot.replica = p.object.Name
	return v
}

// take gives the pod a slot of the shape, or its slot the shape.
func (s *slots) take(p *Pod, shape *shape) {
	if p.slot == nil {
		s.occupy(p, shape)
	} else {
		s.reshape(p, shape)
	}
}

// reclass gives up the slot of a pod, whose task is gated, if another class than the
// slot's is now promised to it, it is of another gang, or constraints begin or cease to bind it. A new slot has a new account.
func (s *slots) reclass(p *Pod) {
	if p.slot == nil {
		return
	}
	if id, _ := s.classes.promised(p); id != p.slot.class || p.slot.job.key.gang != p.Gang() || p.slot.job.key.bound != p.bound {
		s.end(p.slot)
		p.slot, p.lineage.waited = nil, 0
	}
}

// gate takes the pod's task, which waits, out of the core's hands.
func (s *slots) gate(p *Pod) {
	s.journal.emit(cluster.TaskGated{Task: p.slot.task, Seq: p.slot.seq})
}

// found reports to the core where the pod runs.
func (s *slots) found(p *Pod, n *node) {
	s.journal.emit(cluster.TaskFound{Task: p.slot.task, Seq: p.slot.seq, Node: n.row, Grant: p.granted()})
	s.runs[p.slot.task]++
	p.attempt, p.begun, p.node = s.runs[p.slot.task], true, n
}

// decided returns the pod that the core has placed, with the attempt that it has so named.
func (s *slots) decided(d sched.Decision) *Pod {
	of := s.byTask[d.Task]
	if of == nil || of.seq != d.Seq || of.pod == nil || of.pod.Stage != Waiting {
		panic(fmt.Sprintf("world: the core placed task row %d, seq %d, which does not wait", d.Task, d.Seq))
	}
	p := of.pod
	s.runs[d.Task], p.attempt, p.begun = d.Attempt, d.Attempt, false
	return p
}

// podOf is the pod in the slot of a task row; nil if there is none.
func (s *slots) podOf(t cluster.TaskID) *Pod {
	if int(t) >= len(s.byTask) || s.byTask[t] == nil {
		return nil
	}
	return s.byTask[t].pod
}

// running is the pod whose run the decision names; nil if it is not there.
func (s *slots) running(d sched.Decision) *Pod {
	of := s.byTask[d.Task]
	if of == nil || of.seq != d.Seq || of.pod == nil || of.pod.node == nil || of.pod.attempt != d.Attempt {
		return nil
	}
	return of.pod
}

// vacate takes the pod out of its slot, which its job may fill again; evicted says that we had asked for it to leave. The slot
// is gated.
func (s *slots) vacate(p *Pod, evicted bool) {
	of := p.slot
	of.pod, of.until = nil, s.journal.now+vacancyLasts
	of.workload.vacate(of)
	v := vacancy{of, of.until, evicted}
	of.job.vacant = append(of.job.vacant, v)
	s.vacant = append(s.vacant, v)
	if s.shapes.columns.spares(of.shape.demand) { // which others may have meanwhile
		s.give(of, s.shapes.empty(), of.priority)
	}
}

// end ends the slot for good.
func (s *slots) end(of *slot) {
	of.until = 0
	s.classes.ledger.close(of)
	s.journal.emit(cluster.TaskEnded{Task: of.task, Seq: of.seq})
	s.byTask[of.task] = nil
	s.runs[of.task]++ // the core counts the end as well
	s.taskRows.Give(uint32(of.task))
	s.shapes.release(of.shape)
	s.classes.rows[of.class].slots--
	s.classes.retire(of.class)
	j := of.job
	if j.slots--; j.slots > 0 || slices.Contains(s.foreign[:], j) {
		return
	}
	delete(s.jobs, j.key)
	if g := j.key.gang; g != nil {
		g.jobs = slices.DeleteFunc(g.jobs, func(other *job) bool { return other == j })
		s.abandoned(g)
	}
	s.journal.emit(cluster.JobForgotten{Job: j.row})
	s.jobRows.Give(uint32(j.row))
}

// expire ends the slots that have been vacant for too long.
func (s *slots) expire() {
	for len(s.vacant) > 0 && s.vacant[0].until <= s.journal.now {
		v := s.vacant[0]
		s.vacant = s.vacant[1:]
		if v.slot.pod != nil || v.slot.until != v.until {
			continue // it was filled since
		}
		s.vacantNoMore(v.slot)
		s.end(v.slot)
	}
}

// vacantNoMore takes a slot off those that its job may fill. The longest vacant come first, so that one that expires is found at once.
func (s *slots) vacantNoMore(of *slot) {
	vacant := &of.job.vacant
	at := slices.IndexFunc(*vacant, func(v vacancy) bool { return v.slot == of })
	*vacant = slices.Delete(*vacant, at, at+1)
}

// retag reports by what rules between pods name the pod, if that is new.
func (s *slots) retag(p *Pod) {
	if p.slot != nil && p.slot.pod == p && !slices.Equal(p.slot.shape.tags, p.company.tags) {
		s.give(p.slot, s.shapes.tagged(p.slot.shape, p.company.tags), p.slot.priority)
	}
}

// reshape reports what the slot's pod requests, if that is new.
func (s *slots) reshape(p *Pod, shape *shape) { s.give(p.slot, shape, p.priority()) }

// give gives the slot a shape and a priority, and reports them if they are new.
func (s *slots) give(to *slot, shape *shape, wants int32) {
	if to.shape == shape && to.priority == wants {
		return
	}
	before := to.shape
	to.shape, to.priority = shape, wants
	shape.tasks++
	s.journal.emit(cluster.TaskReshaped{Task: to.task, Seq: to.seq, Shape: shape.row, Priority: wants})
	s.shapes.release(before)
}

func priority(pod *v1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}
