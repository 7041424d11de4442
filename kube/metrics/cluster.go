package metrics

import "github.com/prometheus/client_golang/prometheus"

// Cached is a kind of object that the scheduler keeps.
type Cached string

// What is kept, as kube-scheduler calls it.
const (
	Nodes       Cached = "nodes"
	BoundPods   Cached = "pods"         // including the assumed ones
	AssumedPods Cached = "assumed_pods" // bound by us, not yet seen as bound
)

// Cluster is what the API server reported.
type Cluster struct {
	cacheSize   *prometheus.GaugeVec
	staleEvents prometheus.Counter
	epochs      *prometheus.CounterVec
	leftOut     *prometheus.GaugeVec
	panics      *prometheus.CounterVec
	aside       *prometheus.GaugeVec
	promises    *prometheus.CounterVec
	over        prometheus.Gauge
	contested   prometheus.Gauge
}

func newCluster() Cluster {
	return Cluster{
		cacheSize: gauges("scheduler_cache_size",
			"Objects that the scheduler keeps, by type: nodes, pods (with a node) or assumed_pods (bound by us and not yet seen so).", "type"),
		staleEvents: counter("fairlead_stale_events_total",
			"Events that were older than what was known and changed nothing."),
		epochs: counters("fairlead_epochs_total",
			"Times that the planner began anew from what the API server says, by cause.", "cause"),
		leftOut: gauges("fairlead_kinds_left_out",
			"Resources and host ports that the planner does not count because they are too many, by whose they are: nodes (offered by them and asked for by no pod), pods (asked for; such pods are placed one at a time) or devices (of which a node offers more than are used; counted for each such node).",
			"of"),
		panics: counters("fairlead_panics_total",
			"Panics that were recovered, by what was being dealt with: pod, node, another kind of object in lower case, such as podgroup, round (many pods at once), bind, watch (an object as it came in) or other (which ends the process).", "with"),
		aside: gauges("fairlead_set_aside",
			"Objects that are left out because dealing with them panicked, by type: pods, nodes or others. Each says so as an event, and is tried again when it changes, and once in a while.", "type"),
		promises: counters("fairlead_class_changes_total",
			"Tables of classes that came under way, by result: taken, or delayed (no room for so many classes beside those that pods still have).", "result"),
		over: gauge("fairlead_overcommitted_nodes",
			"Nodes whose pods request more than the node offers. Nothing that this scheduler does leads to that: look for a second one on the same nodes."),
		contested: gauge("fairlead_contested_nodes",
			"Nodes that are left to another scheduler for a while, as it took room there that pods were to have."),
	}
}

func (c *Cluster) collectors() []prometheus.Collector {
	return []prometheus.Collector{c.cacheSize, c.staleEvents, c.epochs, c.leftOut, c.panics, c.aside, c.promises, c.over, c.contested}
}

// SetCached sets how many objects of a kind are kept.
func (c *Cluster) SetCached(what Cached, objects int) {
	c.cacheSize.WithLabelValues(string(what)).Set(float64(objects))
}

// Stale counts events that were older than what was known.
func (c *Cluster) Stale(events int) { c.staleEvents.Add(float64(events)) }

// Epoch counts a fresh start of the planner, such as becoming leader.
func (c *Cluster) Epoch(cause string) { c.epochs.WithLabelValues(cause).Inc() }

// SetLeftOut sets how many resources of nodes, and how many needs of pods, are not
// counted by the planner, and of how many resources in devices, node by node, only some are.
func (c *Cluster) SetLeftOut(ofNodes, ofPods, ofDevices int) {
	c.leftOut.WithLabelValues("nodes").Set(float64(ofNodes))
	c.leftOut.WithLabelValues("pods").Set(float64(ofPods))
	c.leftOut.WithLabelValues("devices").Set(float64(ofDevices))
}

// Panicked counts a panic that was recovered.
func (c *Cluster) Panicked(with string) { c.panics.WithLabelValues(with).Inc() }

// SetAside sets how many pods, nodes and other objects are left out after a panic.
func (c *Cluster) SetAside(pods, nodes, others int) {
	c.aside.WithLabelValues("pods").Set(float64(pods))
	c.aside.WithLabelValues("nodes").Set(float64(nodes))
	c.aside.WithLabelValues("others").Set(float64(others))
}

// SetOvercommitted sets how many nodes have pods that request more than they offer.
func (c *Cluster) SetOvercommitted(nodes int) { c.over.Set(float64(nodes)) }

// SetContested sets how many nodes are left to another scheduler for a while.
func (c *Cluster) SetContested(nodes int) { c.contested.Set(float64(nodes)) }

// Promised counts a table of classes that came under way.
func (c *Cluster) Promised(taken bool) {
	result := "delayed"
	if taken {
		result = "taken"
	}
	c.promises.WithLabelValues(result).Inc()
}
