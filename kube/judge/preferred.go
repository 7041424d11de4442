package judge

// What upstream's scores prefer among feasible nodes: tolerated soft taints (weight 3), preferred node affinity, soft spread and preferred pod affinity
// (2 each), volumes and devices. Resources, balance and images are not among them: they are Fairlead's own policies.

import (
	fwk "k8s.io/kube-scheduler/framework"
)

// Preferred returns those of the feasible nodes that have the highest total score, in the given order. Names that are not known are left out. When a score
// plugin fails, every node is as good as any other and all are returned: a preference is no reason not to run.
func (c *Case) Preferred(feasible []string) []string {
	nodes := make([]fwk.NodeInfo, 0, len(feasible))
	for _, name := range feasible {
		if info, known := c.judge.view.byName[name]; known {
			nodes = append(nodes, info)
		}
	}
	if len(nodes) < 2 {
		return nodeNames(nodes)
	}
	// A personal case keeps the state of its last Feasible: VolumeBinding scores the volumes that its filter found.
	if c.upkeep.stale || c.owner != c.pod.UID {
		c.compute(c.pod)
	}
	full, ctx := c.judge.full, c.judge.ctx
	if !full.RunPreScorePlugins(ctx, c.state, c.pod, nodes).IsSuccess() {
		return nodeNames(nodes)
	}
	scores, status := full.RunScorePlugins(ctx, c.state, c.pod, nodes)
	if !status.IsSuccess() {
		return nodeNames(nodes)
	}
	highest := scores[0].TotalScore
	for _, score := range scores {
		highest = max(highest, score.TotalScore)
	}
	var preferred []string
	for _, score := range scores {
		if score.TotalScore == highest {
			preferred = append(preferred, score.Name)
		}
	}
	return preferred
}

func nodeNames(nodes []fwk.NodeInfo) []string {
	names := make([]string, len(nodes))
	for i, info := range nodes {
		names[i] = info.Node().Name
	}
	return names
}
