package report

// Utilisation is the demand of the running tasks as a fraction of the capacity
// of the live nodes: what is being used. Mean is weighted by time.
type Utilisation struct {
	Mean Number `json:"mean"`
	Max  Number `json:"max"`
}

// Allocation is the demand of all tasks that hold room (reserved, starting,
// running or leaving) as a fraction of the capacity of the live nodes: what is
// not free for others. Mean is weighted by time, Final is at the end.
type Allocation struct {
	Mean  Number `json:"mean"`
	Final Number `json:"final"`
}
