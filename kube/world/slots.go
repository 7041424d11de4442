package world

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/fairlead/cluster"
)

// This file keeps slots. A slot is one of the replicas that an owner wants, and
// is the core's task: it outlives its pods, so that what a replica was promised
// is accounted for across them. A pod that is gone, other than by finishing,
// leaves its slot vacant; the owner's next pod takes it. A slot that stays
// vacant for long was scaled away, and ends.

const vacancyLasts = 5 * cluster.Minute

type jobKey struct {
	scheduler string
	owner     types.UID
}

type job struct {
	key    jobKey
	row    cluster.JobID
	slots  int
	vacant []*slot // the longest vacant first
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
}

type vacancy struct {
	slot  *slot
	until cluster.Time
}

// jobOf returns the job that the pod is a part of.
func (w *World) jobOf(p *Pod) *job {
	if !p.Ours {
		if w.foreign == nil {
			w.foreign = &job{row: cluster.JobID(w.jobRows.Take())}
			w.emit(cluster.JobSubmitted{Job: w.foreign.row, Name: "other schedulers", Foreign: true})
		}
		return w.foreign
	}
	name, key := p.object.Namespace+"/"+p.object.Name, jobKey{scheduler: p.object.Spec.SchedulerName, owner: p.object.UID}
	if owner := metav1.GetControllerOfNoCopy(p.object); owner != nil {
		name, key.owner = p.object.Namespace+"/"+owner.Name, owner.UID
	}
	j := w.jobs[key]
	if j == nil {
		j = &job{key: key, row: cluster.JobID(w.jobRows.Take())}
		w.jobs[key] = j
		w.emit(cluster.JobSubmitted{Job: j.row, Name: name, User: p.object.Spec.SchedulerName})
	}
	return j
}

// occupy gives the pod a slot: a vacant one of its job, or a new one, gated.
func (w *World) occupy(p *Pod, s *shape) {
	j := w.jobOf(p)
	promised, _ := w.promised(p)
	p.slot = j.claim(p, promised)
	if p.slot != nil {
		p.slot.pod = p
		w.reshape(p, s)
		return
	}
	p.slot = &slot{
		task: cluster.TaskID(w.taskRows.Take()), seq: w.seq, job: j, shape: s, class: promised,
		priority: priority(p.object), replica: p.object.Name, pod: p,
	}
	w.seq++
	j.slots++
	s.tasks++
	for int(p.slot.task) >= len(w.tasks) {
		w.tasks = append(w.tasks, nil)
		w.runs = append(w.runs, 0)
	}
	w.tasks[p.slot.task] = p.slot
	w.emit(cluster.TaskSubmitted{
		Task: p.slot.task, Seq: p.slot.seq, Job: j.row, Shape: s.row, Class: promised, Priority: p.slot.priority, Gated: true, Account: p.past,
	})
	p.past = nil
}

// claim takes the vacant slot that the pod fills: of the same name if there is
// one, as a StatefulSet's, and else the one that has been vacant the longest. To the
// slot's pods the same was promised.
func (j *job) claim(p *Pod, promised cluster.ClassID) *slot {
	at := -1
	for i, s := range j.vacant {
		named := s.replica == p.object.Name
		if s.class == promised && (named || at < 0) {
			at = i
		}
		if s.class == promised && named {
			break
		}
	}
	if at < 0 {
		return nil
	}
	s := j.vacant[at]
	j.vacant = append(j.vacant[:at], j.vacant[at+1:]...)
	s.replica = p.object.Name
	return s
}

// vacate takes the pod out of its slot, which its job may fill again. The slot
// is gated.
func (w *World) vacate(p *Pod) {
	s := p.slot
	s.pod, s.until = nil, w.now+vacancyLasts
	s.job.vacant = append(s.job.vacant, s)
	w.vacant = append(w.vacant, vacancy{s, s.until})
	if w.kinds.spares(s.shape.demand) { // which others may have meanwhile
		w.give(s, w.emptyShape(), s.priority)
	}
}

// end ends the slot for good.
func (w *World) end(s *slot) {
	s.until = 0
	w.emit(cluster.TaskEnded{Task: s.task, Seq: s.seq})
	w.tasks[s.task] = nil
	w.runs[s.task]++ // the core counts the end as well
	w.taskRows.Give(uint32(s.task))
	w.release(s.shape)
	j := s.job
	if j.slots--; j.slots > 0 || j == w.foreign {
		return
	}
	delete(w.jobs, j.key)
	w.emit(cluster.JobForgotten{Job: j.row})
	w.jobRows.Give(uint32(j.row))
}

// expire ends the slots that have been vacant for too long.
func (w *World) expire() {
	for len(w.vacant) > 0 && w.vacant[0].until <= w.now {
		v := w.vacant[0]
		w.vacant = w.vacant[1:]
		if v.slot.pod != nil || v.slot.until != v.until {
			continue // it was filled since
		}
		// The longest vacant come first, so that this one is found at once.
		vacant := &v.slot.job.vacant
		at := slices.Index(*vacant, v.slot)
		*vacant = slices.Delete(*vacant, at, at+1)
		w.end(v.slot)
	}
}

// reshape reports what the slot's pod requests, if that is new.
func (w *World) reshape(p *Pod, s *shape) { w.give(p.slot, s, priority(p.object)) }

// give gives the slot a shape and a priority, and reports them if they are new.
func (w *World) give(to *slot, s *shape, wants int32) {
	if to.shape == s && to.priority == wants {
		return
	}
	before := to.shape
	to.shape, to.priority = s, wants
	s.tasks++
	w.emit(cluster.TaskReshaped{Task: to.task, Seq: to.seq, Shape: s.row, Priority: wants})
	w.release(before)
}

func priority(pod *v1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}
