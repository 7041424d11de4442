package cluster

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// A gang is a job of which at least so many tasks are to run, or none is to be placed: Job.Gang. It is a
// rule of what places, as hard constraints are: no bundle leaves a task of a gang on a node that has
// fewer than its number then. Nothing is undone for it. Whose node was lost, whose bind was
// refused or who was evicted leaves the others where they are, and comes back with as many as
// bring the gang to its number again.
//
// Who has a place waits there until as many as the gang is to have can begin, or have begun: some of their nodes may have to be left by others first. If one of them loses
// its place before any has begun, in whichever way, the others give theirs up and the gang waits as a whole, unless it has its number without that one.

// IsGang reports whether some of the job's tasks are placed together or not at all.
func IsGang(v *View, j JobID) bool { return v.job[j].Gang > 1 }

// GangTasks are the live tasks of a gang, or of a job whose runs leave all at once, in the order of submission, until the next change; none of
// another job.
func GangTasks(v *View, j JobID) []TaskID { return v.job[j].members }

// GangHas is how many tasks of a gang have a place, or are done with: who has done all of its work leaves
// nobody behind.
func GangHas(v *View, j JobID) int {
	return int(v.job[j].over) + GangStands(v, j)
}

// GangBegins reports whether as many of a gang as are to run have begun, or could now: what they waited for has left. Of one of which some have
// begun already it is enough that who has a place can. It is true of a job that is no gang.
func GangBegins(s *State, j JobID) bool {
	if !IsGang(&s.View, j) {
		return true
	}
	if gangFails(s, j) {
		return false
	}
	spare := max(GangHas(&s.View, j)-int(s.job[j].Gang), 0) // so many need not begin with the others
	reserved := gangReserved(&s.View, j)
	var scratch Vector
	for _, t := range s.job[j].members {
		if reserved <= spare {
			return true
		}
		if s.task[t].Phase != Reserved {
			continue
		}
		var could bool
		if could, scratch = couldBegin(s, t, scratch); !could {
			if spare--; spare < 0 {
				return false
			}
		}
		reserved--
	}
	return true
}

// gangReserved is how many tasks of a gang have a place and have not begun.
func gangReserved(v *View, j JobID) (reserved int) {
	for _, t := range v.job[j].members {
		if v.task[t].Phase == Reserved {
			reserved++
		}
	}
	return reserved
}

// gangFails reports whether a gang has lost places, so that too few are left, before any of it has begun.
func gangFails(s *State, j JobID) bool {
	return GangLacks(&s.View, j) > 0 && GangStands(&s.View, j) == gangReserved(&s.View, j)
}

// couldBegin reports whether a reserved task could begin on its node, beside those who were reserved there before it. The scratch is for the next call.
func couldBegin(s *State, t TaskID, scratch Vector) (could bool, left Vector) {
	n := s.task[t].Node
	left = leftNow(s, n, scratch[:0])
	for _, before := range s.node[n].tasks {
		if before == t {
			break
		}
		if s.task[before].Phase == Reserved {
			add(left, s.Demand(before), -1)
		}
	}
	_, could = promotion(s, t, left)
	return could, left
}

// Hold has a task of a gang that has been placed wait where it is for others of it. Nobody has been told of its run.
func Hold(s *State, t TaskID) {
	s.node[s.task[t].Node].reserved++
	s.setPhase(t, Reserved)
	s.noteTask(t)
}

// GiveUpGang has the tasks of a gang that hold a place wait again if they have become too few before any of it has begun.
func GiveUpGang(s *State, j JobID) {
	if !IsGang(&s.View, j) || !gangFails(s, j) {
		return
	}
	for _, t := range s.job[j].members {
		if s.task[t].Phase == Reserved {
			n := s.task[t].Node
			s.leaveNode(t)
			s.noteNode(n)
		}
	}
}

// GangLacks is how many tasks of a gang must find a place before any of them may have one alone; 0 of a job that is no gang.
func GangLacks(v *View, j JobID) int {
	if !IsGang(v, j) {
		return 0
	}
	return max(int(v.job[j].Gang)-GangHas(v, j), 0)
}

// GangStands is how many tasks of a gang have a place.
func GangStands(v *View, j JobID) (stand int) {
	for _, t := range v.job[j].members {
		if task := &v.task[t]; task.Phase >= Reserved && task.Phase <= Running || task.Phase == Leaving && task.Next != NoNode {
			stand++
		}
	}
	return stand
}

// GangReturns reports whether some of a gang have a place, and fewer than its number: who waits of it takes the place of one that it has lost.
func GangReturns(v *View, j JobID) bool {
	if !IsGang(v, j) {
		return false
	}
	stand := GangStands(v, j)
	return stand > 0 && stand < int(v.job[j].Gang)
}

// GangAwaits reports whether a gang cannot be placed however much room there is, as too few of its tasks wait: others have
// yet to come, or to be let go.
func GangAwaits(v *View, j JobID) bool {
	lacks := GangLacks(v, j)
	for _, t := range v.job[j].members {
		if lacks > 0 && v.task[t].Phase == Waiting {
			lacks--
		}
	}
	return lacks > 0
}

// GangAsks is, kind by kind, the least that as many of the waiting tasks as the gang lacks ask for in all: with less room than
// that it cannot be placed. It is false where it cannot be placed however much room there is, and of a job that lacks none.
func GangAsks(v *View, j JobID) (asks Vector, may bool) {
	lacks := GangLacks(v, j)
	var waiting []ShapeID
	for _, t := range v.job[j].members {
		if v.task[t].Phase == Waiting {
			waiting = append(waiting, v.task[t].Shape)
		}
	}
	if lacks == 0 || len(waiting) < lacks {
		return nil, false
	}
	asks = make(Vector, len(v.kinds))
	demands := make([]int64, len(waiting))
	for k := range asks {
		for i, id := range waiting {
			demands[i] = v.shape[id].Demand[k]
		}
		slices.Sort(demands)
		for _, q := range demands[:lacks] {
			asks[k] = min(asks[k]+q, math.MaxInt64/2) // a sum of quantities overflows only beyond what any cluster has
		}
	}
	return asks, true
}

// checkGangSize refuses a number that no job has.
func checkGangSize(j JobID, name string, foreign bool, gang int32) error {
	if gang < 0 || gang > 1 && foreign {
		return fmt.Errorf("job row %d: %q is a gang of %d, want 0 or more, and of a foreign job 0", j, name, gang)
	}
	return nil
}

// checkJob refuses a row that holds no job.
func checkJob(s *State, j JobID) error {
	if int(j) >= len(s.job) || !s.job[j].Live {
		return fmt.Errorf("job row %d holds no job", j)
	}
	return nil
}

// changeJob applies JobChanged.
func changeJob(s *State, e JobChanged) error {
	if err := checkJob(s, e.Job); err != nil {
		return err
	}
	job := &s.job[e.Job]
	if err := checkGangSize(e.Job, job.Name, job.Foreign, e.Gang); err != nil {
		return err
	}
	if err := checkDisruption(e.Job, e.Disruption); err != nil {
		return err
	}
	if job.Disruption == e.Disruption && job.Gang == e.Gang {
		return nil
	}
	tasks := tasksOf(s, e.Job)
	if job.Disruption != e.Disruption {
		for _, t := range tasks {
			noteTaskAndNodes(s, t)
		}
	}
	relist(s, e.Job, e.Disruption, e.Gang, tasks)
	s.log.note(Jobs, uint32(e.Job))
	return nil
}

// listed reports whether the tasks of the job are listed.
func listed(job *Job) bool { return job.Gang > 1 || job.Disruption == DisruptTogether }

// tasksOf are the live tasks of a job, in the order of submission. It looks at all that there are, unless they are listed.
func tasksOf(s *State, j JobID) []TaskID {
	if listed(&s.job[j]) {
		return s.job[j].members
	}
	var tasks []TaskID
	for i := range s.task {
		if t := &s.task[i]; t.Phase != Absent && t.Job == j {
			tasks = append(tasks, TaskID(i))
		}
	}
	slices.SortFunc(tasks, func(a, b TaskID) int { return cmp.Compare(s.task[a].Seq, s.task[b].Seq) })
	return tasks
}

// relist says anew of how many a job is a gang, and how its runs may be evicted, and is told of its tasks. Those of one that becomes a gang,
// or is none any more, are noted, as they are shown to policies otherwise than before.
func relist(s *State, j JobID, disruption Disruption, gang int32, tasks []TaskID) {
	job := &s.job[j]
	was := job.Gang > 1
	if job.Disruption, job.Gang = disruption, gang; listed(job) {
		job.members = tasks
	} else {
		job.members = nil
	}
	if is := gang > 1; is == was {
		return
	}
	job.over = 0
	for _, t := range tasks {
		s.noteTask(t)
	}
}

// joinGang lists a new task of a job whose tasks are listed.
func joinGang(s *State, t TaskID) {
	job := &s.job[s.task[t].Job]
	if !listed(job) {
		return
	}
	job.members = slices.Insert(job.members, inGang(s, job, t), t)
}

// inGang is where the task stands in the list of its gang, or is to stand.
func inGang(s *State, job *Job, t TaskID) int {
	at, _ := slices.BinarySearchFunc(job.members, s.task[t].Seq, func(o TaskID, seq Seq) int { return cmp.Compare(s.task[o].Seq, seq) })
	return at
}

// leaveGang takes a task that ends from the list. Nobody waits for one that has finished, or has run at all: of a gang that has once
// had its number the others would wait for ever for one that failed.
func leaveGang(s *State, t TaskID, finished bool) {
	task := &s.task[t]
	job := &s.job[task.Job]
	if !listed(job) {
		return
	}
	at := inGang(s, job, t)
	job.members = slices.Delete(job.members, at, at+1)
	if job.Gang <= 1 {
		return
	}
	if finished || task.Account.FirstRun != Never {
		job.over++
	}
}

// checkGang compares what is noted of a gang with the tasks that there are.
func (v checker) checkGang(j JobID, tasks int32) bool {
	job := &v.job[j]
	if !listed(job) || job.Gang <= 1 && job.over != 0 {
		return len(job.members) == 0 && job.over == 0
	}
	sorted := slices.IsSortedFunc(job.members, func(a, b TaskID) int { return cmp.Compare(v.task[a].Seq, v.task[b].Seq) })
	strange := func(t TaskID) bool { return v.task[t].Phase == Absent || v.task[t].Job != j }
	return sorted && len(job.members) == int(tasks) && !slices.ContainsFunc(job.members, strange)
}
