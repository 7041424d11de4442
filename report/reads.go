package report

// Reads says where the input lay that runs read when they began, in bytes. A
// run that was evicted and begins again reads again; one that was there when
// the trace began had read before.
type Reads struct {
	Runs int `json:"runs"` // that began and had something to read
	// Bytes is the sum of Local, which lay on the run's own node, Rack, which
	// came from another node of its rack, and Remote, which came from farther.
	Bytes  Number `json:"bytes"`
	Local  Number `json:"local_bytes"`
	Rack   Number `json:"rack_bytes"`
	Remote Number `json:"remote_bytes"`
	// Missing could not be read: no node was there that held it.
	Missing Number `json:"missing_bytes"`
	// Locality is Local as a fraction of Bytes. RunLocality is the mean of that
	// fraction over runs, in which a small input counts as much as a large one.
	Locality    Number `json:"locality"`
	RunLocality Number `json:"run_locality"`
	// Moved is how much of Bytes was not Local, per simulated hour.
	Moved Number `json:"moved_bytes_per_hour"`
}

// NewReads fills in what follows from the rest of r, of a run that lasted so
// many seconds.
func NewReads(r Reads, simulated Number) *Reads {
	r.Bytes = r.Local + r.Rack + r.Remote
	r.Locality = Ratio(float64(r.Local), float64(r.Bytes))
	r.Moved = Ratio(float64(3600*(r.Rack+r.Remote)), float64(simulated))
	return &r
}
