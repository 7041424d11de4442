package world

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"fairlead.dev/fairlead/cluster"
)

// This file is claims that one pod at a time may use, wherever it is (ReadWriteOncePod): a rule between the pods that name one, as upstream's VolumeRestrictions has it,
// so that those that wait for it are decided with all others, and evict who has it.

// isOnce reports whether one pod at a time may use the claim.
func isOnce(claim *v1.PersistentVolumeClaim) bool {
	return slices.Contains(claim.Spec.AccessModes, v1.ReadWriteOncePod)
}

// readOnce reads that one pod at a time has each of the pod's claims that are for one.
func (rs *rules) readOnce(p *Pod, c *company) {
	if p.stock == nil {
		return
	}
	for _, claim := range p.stock.once {
		said := wording{fmt.Sprintf("claim %s: %s", claim, v1.ReadWriteOncePod), 0}
		rs.adopt(p, c, said, nil, func(tag string) []cluster.Bound {
			return []cluster.Bound{{Subject: []string{tag}, Target: []string{tag}, Group: rs.domains.everywhere()}}
		})
	}
}
