package cluster

// Event is something that happened in the world. The set of events is closed:
// State.Apply knows each of them.
//
// Events may come late, twice or out of order. Those that concern a run name
// it by (task row, attempt), those that concern a task for good by (row, seq);
// an event whose run or task is over is answered with ErrStale and changes
// nothing.
//
//sumtype:decl
type Event interface{ event() }

type (
	// NodeAdded says that a node is there. Its row must be free.
	NodeAdded struct {
		Node NodeID
		Spec NodeSpec
	}

	// NodeChanged replaces what is known of a node. The node may shrink below
	// what runs on it; see State.Overfull.
	NodeChanged struct {
		Node NodeID
		Spec NodeSpec
	}

	// NodeLost says that a node is gone, with every run on it. Its tasks wait
	// again; its row is free.
	NodeLost struct{ Node NodeID }

	// UsageReported says what was measured on a node to be in use, by all that
	// runs there. It replaces the last such report and limits nothing; see
	// State.Usage. One that comes after its node was lost is stale.
	UsageReported struct {
		Node  NodeID
		Usage Vector
	}

	// SetDefined makes a set of nodes, or replaces its members. That costs in
	// proportion to the set; whoever follows the log sees the difference alone.
	SetDefined struct {
		Set   SetID
		Nodes []NodeID
	}

	// SetForgotten frees the row of a set that no shape names any more.
	SetForgotten struct{ Set SetID }

	// EligibilityChanged adds a node to a set or takes it out. A node that is
	// lost leaves every set by itself.
	EligibilityChanged struct {
		Set      SetID
		Node     NodeID
		Eligible bool
	}

	// ShapeDefined makes a shape. Its row must be free.
	ShapeDefined struct {
		Shape ShapeID
		Spec  Shape
	}

	// ShapeForgotten frees the row of a shape that no task has any more.
	ShapeForgotten struct{ Shape ShapeID }

	// RoomComing says whether room is on its way for those who wait with the shape, as on nodes that are being woken. As long as it
	// is, nobody is evicted for their sake.
	RoomComing struct {
		Shape  ShapeID
		Coming bool
	}

	// ConstraintDefined makes a constraint, which counts what is there already. Its
	// row must be free. Placements are held to a hard one from now on; what violates it
	// already may stay.
	ConstraintDefined struct {
		Constraint ConstraintID
		Spec       Constraint
	}

	// ConstraintForgotten frees the row of a constraint, which holds no more.
	ConstraintForgotten struct{ Constraint ConstraintID }

	// ClassDefined makes a class, or replaces what it promises. The accounts of its tasks
	// stay, so that how far each is from a violation may change at once. A policy is shown
	// everything anew.
	ClassDefined struct {
		Class ClassID
		Spec  Class
	}

	// ClassForgotten frees the row of a class that no task has any more.
	ClassForgotten struct{ Class ClassID }

	// SolverReady says that the solver of integer programs, which takes its time to become
	// ready, may be asked from now on. Policies ask it in no round before this; so when it
	// was is no matter of the machine when events are replayed.
	SolverReady struct{}

	// JobSubmitted makes a job without tasks. Its row must be free. Foreign, Yields,
	// Together, FirstEnds, LongRunning, Loose, Service, Disruption and Gang are as in Job; a foreign job's tasks cannot be
	// ended here, nor placed as a gang.
	JobSubmitted struct {
		Job        JobID
		Name, User string
		Foreign    bool
		Yields     uint8
		Together   bool
		FirstEnds  bool

		LongRunning bool
		Loose       bool
		Service     bool
		Disruption  Disruption
		Gang        int32
		Due         Time
	}

	// JobChanged says anew how the runs of a job may be evicted, and how many of its tasks are placed together or not at all; what has a
	// place keeps it. A job that was no gang becomes one of those tasks that it has now.
	JobChanged struct {
		Job        JobID
		Disruption Disruption
		Gang       int32
	}

	// JobForgotten frees the row of a job that has no task any more.
	JobForgotten struct{ Job JobID }

	// TaskSubmitted makes a waiting task, or a gated one. Its row must be free.
	// Its input is kept, not copied; a node that it names need not be there. Account
	// is how it has spent its time up to now, of a task that another core has known;
	// nil if it is new. Lasts is how long a run of it will work, by what the world knows
	// or was told: Never if it does not end by itself, and 0 if nobody says. Displaced says that
	// it comes in place of a task whose run an eviction ends and that has yet to leave, as a controller's
	// pod does on Kubernetes: that it comes is what came of the eviction.
	TaskSubmitted struct {
		Task      TaskID
		Seq       Seq
		Job       JobID
		Shape     ShapeID
		Class     ClassID
		Priority  int32
		Gated     bool
		Input     []Block
		Account   *Account
		Lasts     Time
		Displaced bool
	}

	// TaskUngated lets a gated task wait for a place. Waited is how long it has waited while it was
	// gated, which its account counts: it was to run, and what there was of it was evicted and yet to be made anew.
	TaskUngated struct {
		Task   TaskID
		Seq    Seq
		Waited Time
	}

	// TaskGated takes a task back that waits: it is not to be placed for now.
	// A reserved task gives its room up and is gated too, as the world knows
	// nothing of its reservation. For a gated task the event is stale, and so it
	// is for one whose run is out (starting, running, leaving): what became of
	// the run comes first, as BindRefused or TaskLeft, and then TaskGated again.
	// Gated time counts as nothing in the account. A run that was given up, and
	// began after all, is taken back by a gated task as by a waiting one.
	TaskGated struct {
		Task TaskID
		Seq  Seq
	}

	// TaskReshaped says that what a task asks for has changed, whatever its
	// phase. Where it takes room, that changes at once, and need not fit; where the
	// new demand is a range, by no more than it takes to come into it. A
	// reserved task waits again if the node has no room for its new shape, does
	// not admit it, or it may not stand beside what is there; a leaving task
	// gives up its next node for the same reasons. An orphan keeps the demand
	// that it began with.
	TaskReshaped struct {
		Task     TaskID
		Seq      Seq
		Shape    ShapeID
		Priority int32
	}

	// TaskFound says that a waiting or gated task already runs on a node, where
	// nobody here placed it: a snapshot's, or somebody else's. It need not fit.
	// Where the world does not know its devices, they are chosen. A grant that is
	// outside what the shape allows is brought into it.
	TaskFound struct {
		Task    TaskID
		Seq     Seq
		Node    NodeID
		Devices DeviceSet
		Grant   Vector
	}

	// TaskStarted says that a run has begun: the outcome of a place decision.
	// The world drops what comes late from a node that was lost since, as the
	// row may hold another node by now. Devices and Grant count where the run was
	// given up before; those of any other run are known.
	TaskStarted struct {
		Task    TaskID
		Attempt uint32
		Node    NodeID
		Devices DeviceSet
		Grant   Vector
	}

	// BindRefused says that a run will never begin: the other outcome.
	BindRefused struct {
		Task    TaskID
		Attempt uint32
	}

	// TaskLeft says that a run is over and gone from its node while the task
	// itself is not done: the outcome of an evict decision, or a crash.
	TaskLeft struct {
		Task    TaskID
		Attempt uint32
	}

	// EvictRefused says that a run that was told to leave stays. It may be told again at
	// once: a refusal alone says nothing of the next time, as where the world took an
	// eviction back that nobody needed any more. A world that would refuse the next one
	// too, for however short a while, reports TaskProtected as well, in the same step,
	// before or after. Without that a policy may choose the same run in the next round,
	// be refused, and so on without time passing, and look nowhere else.
	EvictRefused struct {
		Task    TaskID
		Attempt uint32
	}

	// TaskProtected says that a run is not to be evicted before Until, as whoever has a
	// say in it has refused, or would; Reason tells people why. A moment that is not to
	// come protects no more. It replaces what was said before of the run, and ends with it.
	// Until then no policy chooses the run, and when it is over, all may look again. A
	// world that keeps refusing reports it anew with each refusal, of longer and longer
	// times at best, or with Never. But is one more than the lane that may choose it all the same, or 0: what
	// the core itself says of a run for which a lane has evicted somebody of another one, and gives way to
	// what is said of all.
	TaskProtected struct {
		Task    TaskID
		Attempt uint32
		Until   Time
		Reason  string
		But     uint8
	}

	// BudgetChanged says how many runs a budget can spare: how many of those that it guards could be told to leave
	// if none was leaving, without violating it. It makes the budget if there was none in the row; one that is no more spares all (SparesAll).
	BudgetChanged struct {
		Budget BudgetID
		Spare  int32
	}

	// TaskGuarded says which budgets guard a run, in the order of their rows. It replaces what was said before of the run, and ends
	// with it. Such a run may be evicted all the same, though the world may refuse that; who violates fewer budgets goes first.
	TaskGuarded struct {
		Task    TaskID
		Attempt uint32
		Budgets []BudgetID
	}

	// TaskLeaving says that somebody else has told a run to leave its node. Its room
	// will come free, and nobody is to be asked for that: from now on it is as if it
	// had been evicted here. What comes of it is TaskLeft or TaskEnded.
	TaskLeaving struct {
		Task    TaskID
		Attempt uint32
	}

	// TaskEnded says that the task is done for good, whatever its phase:
	// finished, failed or killed. Its row is free. Finished says that it did all
	// that it had to do, which ends the other tasks of a job with FirstEnds.
	TaskEnded struct {
		Task     TaskID
		Seq      Seq
		Finished bool
	}
)

func (NodeAdded) event()           {}
func (NodeChanged) event()         {}
func (NodeLost) event()            {}
func (UsageReported) event()       {}
func (SetDefined) event()          {}
func (SetForgotten) event()        {}
func (EligibilityChanged) event()  {}
func (ShapeDefined) event()        {}
func (ShapeForgotten) event()      {}
func (RoomComing) event()          {}
func (ConstraintDefined) event()   {}
func (ConstraintForgotten) event() {}
func (ClassDefined) event()        {}
func (ClassForgotten) event()      {}
func (SolverReady) event()         {}
func (JobSubmitted) event()        {}
func (JobChanged) event()          {}
func (JobForgotten) event()        {}
func (TaskSubmitted) event()       {}
func (TaskUngated) event()         {}
func (TaskGated) event()           {}
func (TaskReshaped) event()        {}
func (TaskFound) event()           {}
func (TaskStarted) event()         {}
func (BindRefused) event()         {}
func (TaskLeft) event()            {}
func (EvictRefused) event()        {}
func (TaskProtected) event()       {}
func (BudgetChanged) event()       {}
func (TaskGuarded) event()         {}
func (TaskLeaving) event()         {}
func (TaskEnded) event()           {}

// BelongsToNode is the Reason of TaskProtected for a run that stays with its node whatever becomes of others,
// as one of a DaemonSet does: nobody looks for room there.
const BelongsToNode = "it belongs to its node"
