package setup

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/document"
	"fairlead.dev/fairlead/queue/power"
)

// This file reads a table of hardware that somebody has written, in YAML or JSON.

// powerFile is such a table.
type powerFile struct {
	Hardware []hardware `json:"hardware"`
}

// hardware is a row of it.
type hardware struct {
	Label  string `json:"label"`
	Cores  int    `json:"cores"`
	Socket struct {
		Idle  int   `json:"idle"`
		Full  int   `json:"full"`
		Curve []int `json:"curve"`
	} `json:"socket"`
	GPU struct {
		Idle int `json:"idle"`
		Full int `json:"full"`
	} `json:"gpu"`
	Off  int  `json:"off"`
	Wake Time `json:"wake"`
}

// Bounds that no hardware reaches.
const (
	mostOf     = 1_000_000 // watts, cores
	mostPoints = 1001
)

// readPowerTable reads the table; errors call it name.
func readPowerTable(name string, text []byte) (power.Table, error) {
	in, top, err := document.Open(name, text)
	if err != nil {
		return nil, err
	}
	var file powerFile
	in.Decode(top, &file)
	if in.Failed() {
		return nil, in.Err()
	}
	r := powerReader{in, top}
	var table power.Table
	for i := range file.Hardware {
		path := fmt.Sprintf("hardware[%d]", i)
		row := r.row(path, &file.Hardware[i])
		same := func(h power.Hardware) bool { return h.Label == row.Label || h.Label.Key == "" }
		if at := slices.IndexFunc(table, same); at >= 0 {
			in.Complain(top.At(path), "is no node's, as all that it is for are of hardware[%d]; put rows without a label last", at)
		}
		table = append(table, row)
	}
	if len(table) == 0 {
		in.Complain(top, "has no hardware; give a list of rows, such as {cores: 24, socket: {idle: 20, full: 165}}")
	}
	return table, in.Err()
}

// title is what results call it: the name of a file has behind it a hash of what its table says, as files
// change and keep theirs.
func (p *Power) title(table power.Table) string {
	said, err := json.Marshal(table)
	if p.file() == "" || err != nil {
		return p.String()
	}
	sum := sha256.Sum256(said)
	named := *p
	named.Table = fmt.Sprintf("%s#%x", p.Table, sum[:4])
	return named.String()
}

// powerReader complains of a table.
type powerReader struct {
	*document.Reader
	top document.Value
}

// within complains of a number that is out of bounds.
func (r powerReader) within(path string, is, least int) {
	if is < least || is > mostOf {
		r.Complain(r.top.At(path), "%d, want a whole number from %d to %d", is, least, mostOf)
	}
}

// row is a row of the table.
func (r powerReader) row(path string, h *hardware) power.Hardware {
	row := power.Hardware{
		Cores: int64(h.Cores), Socket: power.Draw{Idle: int64(h.Socket.Idle), Full: int64(h.Socket.Full)},
		GPU: power.Draw{Idle: int64(h.GPU.Idle), Full: int64(h.GPU.Full)}, Off: int64(h.Off), Wake: cluster.Time(h.Wake),
	}
	if key, value, is := strings.Cut(h.Label, "="); is && key != "" && value != "" {
		row.Label = cluster.Label{Key: key, Value: value}
	} else if h.Label != "" {
		r.Complain(r.top.At(path+".label"), "%q, want a label such as gpu-model=T4", h.Label)
	}
	r.draw(path+".socket", h.Socket.Idle, h.Socket.Full)
	r.draw(path+".gpu", h.GPU.Idle, h.GPU.Full)
	r.within(path+".off", h.Off, 0)
	if h.Wake < 0 || cluster.Time(h.Wake) > mostSwitching {
		r.Complain(r.top.At(path+".wake"), "%v, want a time up to 365d", h.Wake)
	}
	row.Curve = r.curve(path+".socket", h)
	if h.Cores != 0 || row.Socket != (power.Draw{}) || row.Curve != nil {
		r.within(path+".cores", h.Cores, 1)
	}
	return row
}

// draw complains of what something draws idle and at work.
func (r powerReader) draw(path string, idle, full int) {
	r.within(path+".idle", idle, 0)
	r.within(path+".full", full, 0)
	if idle > full {
		r.Complain(r.top.At(path), "draws %d W idle, and %d W at work; want no less", idle, full)
	}
}

// curve is that of a socket, if it has one.
func (r powerReader) curve(path string, h *hardware) (watts []int64) {
	points := h.Socket.Curve
	if points == nil {
		return nil
	}
	if h.Socket.Idle != 0 || h.Socket.Full != 0 {
		r.Complain(r.top.At(path), "has a curve, whose ends say what it draws idle and at work; leave out idle and full")
	}
	if len(points) < 2 || len(points) > mostPoints {
		r.Complain(r.top.At(path+".curve"), "%d points, want from 2 to %d: watts at even steps from idle to full", len(points), mostPoints)
	}
	for i, w := range points {
		at := fmt.Sprintf("%s.curve[%d]", path, i)
		r.within(at, w, 0)
		if i > 0 && w < points[i-1] {
			r.Complain(r.top.At(at), "%d W, less than at less use: %d", w, points[i-1])
		}
		watts = append(watts, int64(w))
	}
	return watts
}
