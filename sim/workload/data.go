package workload

import (
	_ "embed" // for the numbers
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"fairlead.dev/fairlead/cluster"
)

// Embedding needs a variable of the package; nothing writes it.
//
//go:embed google2011.json
var google2011 string

// perUnit is how many integer quantities make the largest node.
const perUnit = 10_000_000

// data is google2011.json. Each part says where it comes from.
type data struct {
	Machines struct {
		Source string
		Rows   []machineRow
	}
	Shapes struct {
		Source string
		Rows   [][2]float64 // cpu, memory
	}
	Stock, Flow jobRows
	JobGap      quantiles `json:"job_gap"` // seconds
	Hours       struct {
		Source  string
		Begin   int // hour of day at time 0
		Factors [24]float64
	}
	Work  workTables
	Left  struct{ Free, Middle, Production residue }
	Users struct {
		Flow, Stock quantiles // rank
	}
	Churn struct {
		Source   string
		Removals float64   // of each node in a day
		Gap      quantiles // over the mean
		Down     quantiles // minutes
	}
	Apart struct {
		Source string
		Share  float64
	}
	Versions struct {
		Source  string
		Weights []int
	}
	Requirements struct {
		Source string
		Share  float64
		Rows   []requirementRow
	}
}

// theirNodes is how many nodes Google's cluster had.
func (d *data) theirNodes() int {
	n := 0
	for _, r := range d.Machines.Rows {
		n += r.Count
	}
	return n
}

type machineRow struct {
	Platform    string
	CPU, Memory float64
	Count       int
}

// jobRows are jobs that were seen, each row for several alike.
type jobRows struct {
	Source  string
	Columns []string
	Rows    [][6]uint32
}

// quantiles is a distribution as knots (chance of a smaller value, value).
type quantiles struct {
	Source string
	Knots  [][2]float64
}

// residue is how long what was there at the start stays.
type residue struct {
	Source string
	Never  float64 // share that stays for good
	Knots  [][2]float64
}

// workTables are seconds for which jobs and tasks run.
type workTables struct {
	Class0, Class1, Class2, Class3, Batch, Factor quantiles
	Long                                          struct {
		Source                   string
		Free, Middle, Production float64
	}
}

type requirementRow struct {
	Weight int
	All    []string
}

// load decodes the numbers. They are part of the program, so that a flaw in
// them is the program's.
func load() *data {
	d, err := decode(google2011)
	if err != nil {
		panic("workload: google2011.json: " + err.Error())
	}
	return d
}

func decode(text string) (*data, error) {
	d := new(data)
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(d); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("something follows the end")
	}
	for _, rows := range []jobRows{d.Stock, d.Flow} {
		if err := rows.check(len(d.Shapes.Rows)); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// check reports the first row that cannot be.
func (j jobRows) check(shapes int) error {
	for i, r := range j.Rows {
		if r[0] > 11 || r[1] > 3 || r[2] == 0 || int(r[3]) >= shapes || r[4] > 1 || r[5] == 0 {
			return fmt.Errorf("row %d: no such job: %v are %v", i, j.Columns, r)
		}
	}
	return nil
}

// jobRow is a row of jobs in the units of the program.
type jobRow struct {
	priority int32
	class    uint8
	tasks    uint32
	demand   cluster.Vector
	room     int // nodes that are large enough for a task
	apart    bool
	jobs     float64
}

// rows returns the jobs as they appear in a cluster of these nodes that is to
// have scale times the tasks of the data.
func (j jobRows) rows(d *data, nodes *machines, scale float64) []jobRow {
	demand := make([]cluster.Vector, len(d.Shapes.Rows))
	room := make([]int, len(demand))
	for i, s := range d.Shapes.Rows {
		demand[i] = vector(s[0], s[1])
		room[i] = nodes.room(demand[i])
	}
	var out []jobRow
	for _, r := range j.Rows {
		row := jobRow{
			priority: int32(r[0]), class: uint8(r[1]), tasks: r[2], demand: demand[r[3]],
			room: room[r[3]], apart: r[4] == 1, jobs: float64(r[5]),
		}
		if row.room == 0 {
			continue // a small cluster has none of the rare large nodes
		}
		size, copies := rescale(row.tasks, len(nodes.kind), scale)
		if row.apart {
			most := min(size, max(1, uint32(row.room/2)))
			copies *= float64(size) / float64(most)
			size = most
		}
		row.tasks, row.jobs = size, row.jobs*copies
		out = append(out, row)
	}
	return out
}

func vector(cpu, memory float64) cluster.Vector {
	return cluster.Vector{int64(math.Round(cpu * perUnit)), int64(math.Round(memory * perUnit))}
}

// table turns quantiles of the data into a table; they are checked by a test.
func (q quantiles) table(unit float64) table {
	t, err := newTable(q.Knots, unit)
	if err != nil {
		panic("workload: google2011.json: " + q.Source + ": " + err.Error())
	}
	return t
}
