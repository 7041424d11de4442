package sim

import (
	"bytes"
	"encoding/base64"
	"strings"

	"github.com/klauspost/compress/gzip"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
)

// This file takes pictures of how full each node is: report.Heat. Nobody knows
// at the start how long a run will be, so pictures are taken often at first, and
// whenever there are as many as there may be, every second one is dropped and
// the next ones are taken half as often. So they are always evenly spread, at
// least half as many as there may be but in the shortest runs, and 48 bytes a node
// at most.

const mostPictures = 48

// heat is the pictures taken so far, at times 0, every, 2 × every and so on.
type heat struct {
	nodes    *nodes
	every    cluster.Time
	pictures [][]byte // a byte for each node row there was
}

func newHeat(n *nodes) heat { return heat{nodes: n, every: firstStep} }

// advance takes the pictures of the time that goes by. What happens at the moment of a
// picture is in it, so that it is taken when time goes beyond.
func (h *heat) advance(s *span) { h.until(s.to, s.state) }

func (h *heat) until(to cluster.Time, s *cluster.View) {
	for h.next() < to {
		h.makeRoom() // the next picture is of the same moment as before
		h.pictures = append(h.pictures, picture(s))
	}
}

// next is the moment of the next picture.
func (h *heat) next() cluster.Time { return h.every * cluster.Time(len(h.pictures)) }

// makeRoom drops every second picture if there are as many as there may be.
func (h *heat) makeRoom() {
	if len(h.pictures) < mostPictures {
		return
	}
	for i := range mostPictures / 2 {
		h.pictures[i] = h.pictures[2*i]
	}
	clear(h.pictures[mostPictures/2:])
	h.pictures = h.pictures[:mostPictures/2]
	h.every *= 2
}

// The bytes of a picture: there is no such node, it is empty, it is full. There
// is room above for nodes that hold more than they have.
const (
	noNode    = 0
	emptyNode = 1
	fullNode  = 201
)

// picture says how full each node is now.
func picture(s *cluster.View) []byte {
	p := make([]byte, s.NodeRows())
	for i := range p {
		n := cluster.NodeID(i)
		if s.NodeLive(n) {
			p[i] = fill(s.Used(n), s.Capacity(n))
		}
	}
	return p
}

// fill is the largest share of a kind that is taken, as a byte.
func fill(used, capacity cluster.Vector) byte {
	most := int64(emptyNode)
	for k, q := range used {
		switch {
		case q <= 0:
		case q >= 2*capacity[k]: // more than a byte says
			return 255
		default:
			most = max(most, emptyNode+q*(fullNode-emptyNode)/capacity[k])
		}
	}
	return byte(min(most, 255))
}

// result ends the pictures. The names of all nodes there were are a line each, by row.
func (h *heat) result(s *span, r *report.Run) {
	h.until(s.to+1, s.state)
	names := make([]string, len(h.nodes.list))
	for i := range names {
		names[i] = strings.ReplaceAll(h.nodes.list[i].name, "\n", " ")
	}
	r.Heat = &report.Heat{Times: make([]report.Number, len(h.pictures)), Nodes: len(names)}
	all := make([]byte, 0, len(h.pictures)*len(names))
	for i, p := range h.pictures {
		r.Heat.Times[i] = report.Seconds(h.every * cluster.Time(i))
		all = append(all, p...)
		all = append(all, make([]byte, len(names)-len(p))...)
	}
	r.Heat.Fill = packed(all)
	r.Heat.Names = packed([]byte(strings.Join(names, "\n")))
}

// packed is the data compressed with gzip, without a time, in base64.
func packed(data []byte) string {
	var text bytes.Buffer
	w := gzip.NewWriter(&text)
	if _, err := w.Write(data); err != nil {
		panic("sim: a buffer does not take what is written to it: " + err.Error())
	}
	if err := w.Close(); err != nil {
		panic("sim: a buffer does not take what is written to it: " + err.Error())
	}
	return base64.StdEncoding.EncodeToString(text.Bytes())
}
