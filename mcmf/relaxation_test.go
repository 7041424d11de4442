package mcmf

import "testing"

func TestRelaxation(t *testing.T)     { checkAgainst(t, relaxation) }
func TestRelaxationEnds(t *testing.T) { checkEnds(t, relaxation) }
func TestRelaxationWarm(t *testing.T) { checkWarm(t, relaxation, relaxationFrom) }

func TestRelaxationPlain(t *testing.T) {
	checkAgainst(t, func(g *Graph, volume int64, m *meter) solution {
		return relaxationWith(g, newResidual(g, volume), nil, newRelaxing(m, false))
	})
}
