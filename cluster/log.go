package cluster

// Table names one of the tables of a State.
type Table uint8

// The tables whose rows the change log speaks of.
const (
	Nodes Table = iota
	Tasks
	Jobs
	Shapes
	Sets
	Classes
	Constraints // also where a hard one counts otherwise than before, in a set of several nodes
	Guarding    // budgets that guard runs and do not refuse
	Coming      // shapes for which room has begun to come, or has ceased to
	Tables      // how many there are
)

// Touch says that a row of a table was changed.
type Touch struct {
	Table Table
	Row   uint32
	// Node is, of Sets, a node that came into the set or left it; NoNode where
	// the set itself came or went, or lost a node that is gone.
	Node NodeID
}

// log lists the rows that were touched, oldest first, repeats included.
// Positions in it count from the start of the run; what every reader has read
// is trimmed. Beside them it keeps how many rows there ever were.
type log struct {
	touches []Touch
	start   uint64      // position of touches[0]
	made    [Tables]int // how many rows of each table events have made so far
}

func (l *log) note(t Table, row uint32) {
	l.touches = append(l.touches, Touch{Table: t, Row: row, Node: NoNode})
}

// member notes that the node came into the set or left it.
func (l *log) member(set SetID, n NodeID) {
	l.touches = append(l.touches, Touch{Table: Sets, Row: uint32(set), Node: n})
}

// LogEnd is the position after the latest change.
func (v *View) LogEnd() uint64 { return v.log.start + uint64(len(v.log.touches)) }

// ChangesSince returns the rows touched from position on, and false where the
// log does not reach back so far: then everything must be taken as changed.
// The slice is valid until the next change.
func (v *View) ChangesSince(position uint64) ([]Touch, bool) {
	if position < v.log.start {
		return nil, false
	}
	return v.log.touches[position-v.log.start:], true
}

// TrimLog drops the changes before position.
func (s *State) TrimLog(position uint64) {
	if position <= s.log.start {
		return
	}
	n := min(position-s.log.start, uint64(len(s.log.touches)))
	rest := copy(s.log.touches, s.log.touches[n:])
	s.log.touches = s.log.touches[:rest]
	s.log.start += n
}

// Touch notes rows as changed although they are not, so that whoever planned
// with them looks at them again.
func (s *State) Touch(task TaskID, node NodeID) {
	if int(task) < len(s.task) {
		s.log.note(Tasks, uint32(task))
	}
	if int(node) < len(s.node) {
		s.log.note(Nodes, uint32(node))
	}
}
