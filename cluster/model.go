package cluster

import (
	"fmt"
	"math"
	"math/bits"
)

// Rows name things by small recycled numbers, so that the model is a handful
// of flat arrays. The world chooses the rows of what it reports (Rows hands
// them out) and may use a row again once the State has dropped it.
type (
	// NodeID is the row of a node.
	NodeID uint32
	// TaskID is the row of a task.
	TaskID uint32
	// JobID is the row of a job.
	JobID uint32
	// ShapeID is the row of a shape.
	ShapeID uint32
	// SetID is the row of a set of nodes.
	SetID uint32
	// ConstraintID is the row of a constraint.
	ConstraintID uint32
	// ClassID is the row of a class; those given to NewState have the first rows.
	ClassID uint8
	// BudgetID is the row of a budget that guards runs; see guard.go.
	BudgetID uint32
	// Seq is the order of submission. It is never recycled, and ends every
	// comparison that would otherwise be a tie.
	Seq uint64
)

const (
	// NoNode stands where there is no node.
	NoNode NodeID = math.MaxUint32
	// NoTask stands where there is no task.
	NoTask TaskID = math.MaxUint32
	// NoJob stands where there is no job.
	NoJob JobID = math.MaxUint32
	// AllNodes is the set of every live node. It needs no definition.
	AllNodes SetID = 0
)

// NodeSpec is what the world says of a node. It is not changed afterwards.
type NodeSpec struct {
	Name     string
	Capacity Vector // at least 0 in each kind
	// Overcommit multiplies the capacity of each kind, in thousandths, into
	// the limit up to which demand is placed. Nil means 1000 for all kinds.
	Overcommit Vector
	Labels     []Label // sorted by key
	// Groups says to which set of each named family the node belongs, such as
	// rack=r17; sorted by key.
	Groups []Label
	// Tier is the node's reputation; higher is better.
	Tier int32
}

// Shape is all of a task that a filter or a score may look at. Tasks of equal
// shape share one row.
type Shape struct {
	Demand Vector
	// Max is nil where the demand is fixed. Else a task takes what it is granted,
	// from Demand, which is then the least, up to Max; see Task.Grant. A kind that
	// comes in devices is always fixed.
	Max Vector
	// Eligible is the set of nodes that the shape's own filters admit. The
	// world computes it and says when it changes.
	Eligible SetID
	// Usual is the set of nodes on which such tasks can be as far as that depends on themselves alone, where Eligible is an
	// answer for the moment; AllNodes where Eligible says it. What is learned of tasks is learned of these.
	Usual SetID
	// Prefers says on which of these the tasks would rather be; see prefer.go.
	Prefers []Preference
	// PerNode is how many tasks of the job a node may hold, this one included:
	// 1 keeps them apart, as Google's different-machines restriction does. 0
	// is no limit; less is refused.
	PerNode int32
	// Tags are what constraints name the task by, sorted, each once. AppTag of its
	// application is one of them, where it has any.
	Tags []string
	// NeverPreempts says that nobody is evicted for the task's sake; see EvictsNobody. It may take what room others leave.
	NeverPreempts bool
	// Stays says that runs are not moved to other nodes: nobody would make them again there. They may be evicted.
	Stays bool
}

// Disruption says how the runs of a job may be evicted; see disruption.go.
type Disruption uint8

// The ways in which runs may be evicted.
const (
	DisruptSingly   Disruption = iota // each by itself
	DisruptTogether                   // all at once, or none
	DisruptNever
	disruptions
)

// Job is a set of tasks that were submitted together.
type Job struct {
	Name string
	User string
	// Foreign jobs are somebody else's: their tasks take room, but are never
	// placed here, nor evicted but for Yields.
	Foreign bool
	// Yields is, of a foreign job, one more than the lane that may evict its runs all the same; 0 is none.
	Yields uint8
	// Together says that all of the job's tasks want to stand on one node. It is
	// a wish: commit does not check it, and most policies do not look at it.
	Together bool
	// FirstEnds says that the job's tasks are copies of one another: the first that
	// finishes ends the others.
	FirstEnds bool
	// LongRunning says that the job is an application that stays, such as a service, and
	// belongs to the constraint scheduler's lane where there is one.
	LongRunning bool
	// Loose says of an application that its tasks are placed each by itself, not whole or not at all.
	Loose bool
	// Service says that the job's tasks go on until somebody ends them, and do the same, so that it is good to have
	// them on different nodes. Each application is one.
	Service bool
	// Disruption says how the job's runs may be evicted.
	Disruption Disruption
	// Gang is how many of the job's tasks are to run, or none is placed; 0 and 1 are no gang. See gang.go.
	Gang int32
	// Due is when all of the job is to be done; 0 where nobody says.
	Due     Time
	Live    bool
	Tasks   int32    // live tasks
	apart   bool     // some task of it has, or had, a shape with a PerNode
	members []TaskID // of a gang, or a job whose runs leave all at once: its live tasks, in the order of submission
	over    int32    // of a gang: how many have ended for whom nobody waits; see leaveGang
}

// Phase is where a task stands in its life.
type Phase uint8

// The phases of a task. Reserved, Starting, Running and Leaving tasks take
// room on their node.
const (
	Absent   Phase = iota // the row holds no task
	Gated                 // submitted, and not yet to be placed
	Waiting               // to be placed
	Reserved              // a node is chosen; its room is still held by what leaves
	Starting              // the decision is out; the world has not answered
	Running
	Leaving // told to leave its node, still there
	phases
)

// String names the phase in one word.
func (p Phase) String() string {
	return [phases]string{"absent", "gated", "waiting", "reserved", "starting", "running", "leaving"}[p]
}

// Task is a replica slot of a job. It outlives its attempts, each of which is
// one run on one node.
type Task struct {
	Seq      Seq
	Job      JobID
	Shape    ShapeID
	Class    ClassID
	Phase    Phase
	Priority int32 // larger is more important
	// Attempt numbers the current run, or the latest one while the task
	// waits. A row's attempts keep counting when the row is used again, so
	// that (row, attempt) names one run for ever. A reservation that is given up
	// was no run: its number is that of the next one, so that the world, which
	// counts the runs that it knows of, counts the same.
	Attempt uint32
	// Base is the last attempt of the row's earlier tasks.
	Base uint32
	// Began says that the current run is known to have begun, so that a late
	// word that it was refused is not believed.
	Began bool
	// Refused says that the latest run was refused. Such a run may turn out to
	// have begun after all.
	Refused bool
	// Told is what the task was told by a decision made here, of which the world may have yet to hear.
	Told Told
	// Node is where the task takes room; NoNode while it waits.
	Node NodeID
	// Next is the node where a leaving task holds room for its next run;
	// otherwise NoNode.
	Next NodeID
	// Devices are those of the current run, or of the latest one while the task
	// waits.
	Devices DeviceSet
	// rare is nil unless the task is given more than the least that its shape asks for,
	// or is protected. It stands here as a task is two cache lines, and this ends the
	// first: searches for victims read no more of the many tasks that they pass.
	rare *rare
	// NextDevices are those that the task holds on Next.
	NextDevices DeviceSet
	Account     Account
}

// Told is what a task was told by a decision.
type Told uint8

// What a task may have been told.
const (
	NotTold Told = iota
	ToLeave      // its node: it is leaving it
	ToEnd        // for good: it is gated, or leaving, until the world says that it has ended
)

// Placed reports whether the task takes room on a node.
func (t *Task) Placed() bool { return t.Phase >= Reserved }

// Account counts how a task has spent its time up to Since. It is advanced
// when the phase changes and nowhere else.
type Account struct {
	Submitted Time
	Since     Time // when the present phase began
	Waiting   Time // waiting or reserved
	Overhead  Time // starting or leaving: room is taken, nothing is done
	Running   Time
	FirstRun  Time // when it first ran; Never before that
	// Restarting is the part of Overhead since then: what it cost to be evicted.
	Restarting Time
}

// At returns the account advanced to the moment now, for a task in phase p.
func (a Account) At(now Time, p Phase) Account {
	advance(&a, now, p)
	return a
}

// advance advances the account of a task in phase p in its place.
func advance(a *Account, now Time, p Phase) {
	spent := now - a.Since
	a.Since = now
	switch p {
	case Waiting, Reserved:
		a.Waiting += spent
	case Starting, Leaving:
		a.Overhead += spent
		if a.FirstRun != Never {
			a.Restarting += spent
		}
	case Running:
		a.Running += spent
	case Absent, Gated, phases:
	}
}

// checkAccount says why no task can have spent its time like that up to now. A nil
// account is that of a task which is new.
func checkAccount(a *Account, now Time) error {
	if a == nil {
		return nil
	}
	there := now - a.Submitted
	ran := a.FirstRun != Never
	switch {
	case a.Submitted > now || a.Submitted < -mostMargin || a.FirstRun < a.Submitted || ran && a.FirstRun > now:
		return fmt.Errorf("account: submitted at %v and first run at %v, and it is %v", a.Submitted, a.FirstRun, now)
	case min(a.Waiting, a.Overhead, a.Running, a.Restarting) < 0 || max(a.Waiting, a.Overhead, a.Running) > there || a.Age() > there:
		return fmt.Errorf("account: waiting %v, overhead %v, running %v of %v", a.Waiting, a.Overhead, a.Running, there)
	case a.Restarting > a.Overhead || !ran && a.Running+a.Restarting > 0:
		return fmt.Errorf("account: restarting %v of %v overhead, running %v, first run at %v", a.Restarting, a.Overhead, a.Running, a.FirstRun)
	}
	return nil
}

// Age is how long the task has asked to run, from the account as it stands: all of its
// time but what it was gated.
func (a Account) Age() Time { return a.Waiting + a.Overhead + a.Running }

// Availability is the share of its age that the task has run; all of it at age 0
// (QoS-driven scheduling, equation 1).
func (a Account) Availability() Share {
	age := a.Age()
	if age <= 0 {
		return Whole
	}
	hi, lo := bits.Mul64(uint64(a.Running), uint64(Whole))
	share, _ := bits.Div64(hi, lo, uint64(age)) // it has not run for longer than that
	return Share(share)
}

// Rows hands out the lowest row that was never used, or the one given back
// last. The zero value is ready to use.
type Rows struct {
	free []uint32
	next uint32
}

// Take returns a row that is not in use.
func (r *Rows) Take() uint32 {
	if n := len(r.free); n > 0 {
		row := r.free[n-1]
		r.free = r.free[:n-1]
		return row
	}
	r.next++
	return r.next - 1
}

// Give takes back a row that is no longer in use.
func (r *Rows) Give(row uint32) { r.free = append(r.free, row) }
