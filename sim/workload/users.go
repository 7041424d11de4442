package workload

import (
	"fmt"
	"math/rand/v2"
)

// users is who submits jobs. A few users submit half of them.
type users struct {
	names []string // the busiest first
	rank  table    // in rankUnit
}

// rankUnit lets ranks be drawn between the knots of a table.
const rankUnit = 1 << 10

func newUsers(ranks quantiles) users {
	u := users{rank: ranks.table(rankUnit)}
	most := int(ranks.Knots[len(ranks.Knots)-1][1])
	for i := range most {
		u.names = append(u.names, fmt.Sprintf("u%03d", i+1))
	}
	return u
}

// pick draws a user. Below 2^32 no draw reaches the last knot.
func (u *users) pick(r *rand.Rand) string { return u.names[u.rank.at(r.Uint32())/rankUnit] }
