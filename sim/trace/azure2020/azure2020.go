// Package azure2020 reads Azure's trace for packing, AzureTracesForPacking2020 (Hadary et al.,
// Protean, OSDI'20): the requests for virtual machines of a zone in 14 days. It is published as
// an SQLite database with two tables. What is read here is these tables as text, vm.csv and
// vmType.csv in one folder, with a first line that names the columns, perhaps compressed with
// gzip; the module in formats/ has a command that writes them, and so does sqlite3 itself.
//
//	vmType  vmTypeId, machineId: a type of VM, and a type of machine that it may run on
//	        core, memory, hdd, ssd, nic: the share of such a machine that it takes; NULL is none
//	vm      vmId, tenantId, vmTypeId; priority: 0 is high, 1 is low
//	        starttime, endtime: in days since the trace begins
//
// A type takes another share of each machine, and a task here asks for the same wherever
// it goes: the nodes are of one type of machine. It is the one that most types of VM may run on, or
// that of Options.Machine. VMs of types that do not run on it are left out, and counted. The
// trace does not say how many machines there are; Options.Nodes does.
//
// A VM is a job of one task, and its tenant the user. One that was there before the trace began
// (starttime below 0) is submitted at 0, to be placed: nobody says where it ran. It
// runs from then or starttime to endtime, and for ever where that is NULL, which is more than 90
// days. VMs must stand in the order of starttime. Times are rounded down to a billionth
// of a day.
//
// A VM of high priority asks with that of production, 9, whose tasks the default table of
// classes never evicts, and one of low priority with 0: it may be evicted. (How long these lived
// was up to Azure's own evictions, too.) None is moved to another node: they are unowned, so that one
// that is evicted ends. With Options.Movable they are as other tasks, those of high priority with 2.
//
// Requests come for 14 days, which is when a run ends unless told otherwise.
//
// The published schema and notes are all that this was made from; it was tested on rows that
// were made up.
package azure2020

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
)

// The resolution of shares, and of days: a billionth.
const (
	places  = 9
	perUnit = 1_000_000_000
)

// end is when the requests do.
const end = 14 * cluster.Day

// The priorities of VMs.
const (
	production = 9
	movable    = 2 // of high priority
)

// Options describe the nodes and the reading.
type Options struct {
	Nodes     int
	Machine   uint64 // the type of the nodes, where Chosen
	Chosen    bool
	Movable   bool // VMs may be evicted and moved
	TasksOnly bool // there are no nodes: another source has them
	Lenient   bool // count and skip broken lines
}

// Source is the trace, with its nodes. VMs are read as they are asked for.
type Source struct {
	options Options
	skips   trace.Skips
	machine uint64                    // the type of the nodes
	demand  map[uint64]cluster.Vector // by type of VM; nil of those that do not run on the nodes
	vms     *trace.Table
	seen    trace.Numbers
	at      cluster.Time // of the latest
	added   int          // nodes given out so far
	omitted [omissions]int
	latest  trace.Task
	left    int // what latest is left out for, or -1
}

var _ trace.EndingSource = (*Source)(nil)

// The reasons for which VMs are left out.
const (
	otherMachine = iota
	gone
	omissions
)

// Open reads the types of VMs.
func Open(dir string, o Options) (*Source, error) {
	if err := refuseDatabase(dir); err != nil {
		return nil, err
	}
	s := &Source{options: o, skips: trace.Skips{Lenient: o.Lenient}}
	if err := s.readTypes(named(dir, "vmType.csv")); err != nil {
		return nil, err
	}
	var err error
	s.vms, err = trace.OpenTable(named(dir, "vm.csv"), &s.skips, trace.Header{
		Needed:   []string{"vmId", "vmTypeId", "priority", "starttime", "endtime"},
		Optional: []string{"tenantId"},
	})
	return s, err
}

// named is the path of a file in the folder, which may end in .gz.
func named(dir, name string) string {
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		if _, err := os.Stat(path + ".gz"); err == nil {
			return path + ".gz"
		}
	}
	return path
}

// refuseDatabase says what to do with the database itself.
func refuseDatabase(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	const magic = "SQLite format 3\x00"
	begin := make([]byte, len(magic))
	_, _ = io.ReadFull(file, begin)
	if string(begin) != magic {
		return &trace.Error{File: path, Want: "a folder with vm.csv and vmType.csv, the tables of the database as text"}
	}
	return &trace.Error{
		File: path, Want: "a folder with vm.csv and vmType.csv, the tables of this SQLite database as text",
		Hint: fmt.Sprintf("write them: go -C formats build -o ../bin/ ./cmd/fairlead-sqlite && bin/fairlead-sqlite %s DIR", path),
	}
}

// readTypes chooses the type of machine, and reads what each type of VM takes of one.
func (s *Source) readTypes(file string) error {
	type on struct{ vm, machine uint64 }
	takes := map[on]cluster.Vector{}
	types := map[uint64]int{} // of VMs, by type of machine
	header := trace.Header{Needed: []string{"vmTypeId", "machineId", "core", "memory"}, Optional: []string{"id", "hdd", "ssd", "nic"}}
	err := trace.ReadTable(file, &s.skips, header, func(c trace.Columns, row *trace.Row) error {
		of := on{row.Uint(c["vmTypeId"], "the number of a type of VM", mostID), row.Uint(c["machineId"], "the number of a type of machine", mostID)}
		var demand cluster.Vector
		for _, name := range columns() {
			demand = append(demand, share(row, c[name]))
		}
		switch {
		case row.Err() != nil:
		case takes[of] != nil:
			row.Fail(c["machineId"], "a type of machine that is not there yet for this type of VM")
		case len(takes) == mostTypes:
			row.Fail(c["vmTypeId"], fmt.Sprintf("at most %d rows", mostTypes))
		default:
			takes[of] = demand
			types[of.machine]++
		}
		return row.Err()
	})
	if err != nil {
		return err
	}
	s.machine = s.options.Machine
	if !s.options.Chosen {
		s.machine = mostUsed(types)
	}
	if types[s.machine] == 0 {
		return &trace.Error{File: file, Want: fmt.Sprintf("a type of VM that runs on machine %d", s.machine), Hint: fmt.Sprintf("most run on machine %d", mostUsed(types))}
	}
	s.demand = map[uint64]cluster.Vector{}
	for of, demand := range takes {
		switch {
		case of.machine == s.machine:
			s.demand[of.vm] = demand
		case s.demand[of.vm] == nil:
			s.demand[of.vm] = nil
		}
	}
	return nil
}

// mostUsed is the type of machine with the most types of VM; of several the one with the least number.
func mostUsed(types map[uint64]int) (machine uint64) {
	most := 0
	for m, n := range types {
		if n > most || n == most && m < machine {
			machine, most = m, n
		}
	}
	return machine
}

// These bound numbers, so that a wild file is an error.
const (
	mostID    = 1 << 62
	mostTypes = 1_000_000
)

// columns are those of what a VM takes, in the order of vectors.
func columns() []string { return []string{"core", "memory", "hdd", "ssd", "nic"} }

// share reads what is taken of a machine; where the column is missing, or empty, that is nothing. It is rounded down, so
// that sixty sixtieths fit.
func share(row *trace.Row, field int) int64 {
	if field == 0 || row.Empty(field) {
		return 0
	}
	const want = "a share of a machine, from 0 to 1"
	q := row.Decimal(field, want, places, trace.Down)
	if q > perUnit {
		row.Fail(field, want)
	}
	return q
}

// Kinds are cpu, memory, hdd, ssd and nic, in shares of a machine.
func (s *Source) Kinds() (kinds []cluster.Kind) {
	for _, name := range columns() {
		if name == "core" {
			name = "cpu"
		}
		kinds = append(kinds, cluster.Kind{Name: name, Unit: "machines", PerUnit: perUnit})
	}
	return kinds
}

// End is when a run stops unless told otherwise.
func (s *Source) End() cluster.Time { return end }

// Next gives the nodes, and then the VMs.
func (s *Source) Next(r *trace.Record) error {
	if s.added < s.options.Nodes && !s.options.TasksOnly {
		s.added++
		whole := cluster.Vector{perUnit, perUnit, perUnit, perUnit, perUnit}
		*r = trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: uint64(s.added), Capacity: whole}}
		return nil
	}
	for {
		if err := s.vms.Next(s.read); err != nil {
			return err
		}
		if s.left < 0 {
			*r = trace.Record{Time: s.at, What: trace.TaskSubmitted, Task: s.latest}
			return nil
		}
		s.omitted[s.left]++
	}
}

// read reads one VM, and whether it is left out.
func (s *Source) read(c trace.Columns, row *trace.Row) error {
	const when = "a time in days"
	t := trace.Task{
		Job: row.Uint(c["vmId"], "the number of a VM", mostID), JobTasks: 1, Unowned: true,
		Priority: int32(row.Uint(c["priority"], "0, high, or 1, low", 1)), Work: cluster.Never,
	}
	kind := row.Uint(c["vmTypeId"], "the number of a type of VM", mostID)
	demand, known := s.demand[kind]
	if tenant := c["tenantId"]; tenant > 0 {
		t.User = string(row.Text(tenant))
	}
	start := row.Signed(c["starttime"], when, places, trace.Down)
	at := duration(max(start, 0))
	s.left = -1
	if stop := c["endtime"]; !row.Empty(stop) && !bytes.Equal(row.Text(stop), []byte("NULL")) {
		ends := row.Signed(stop, when, places, trace.Down)
		if ends < start {
			row.Fail(stop, "a time that is not before starttime")
		}
		if ends <= 0 && start < 0 {
			s.left = gone
		}
		t.Work = duration(max(ends, 0)) - at
	}
	switch {
	case row.Err() != nil:
	case !known:
		row.Fail(c["vmTypeId"], "a type of VM that vmType.csv has")
	case at < s.at:
		row.Fail(c["starttime"], "a time that is not before that of the row before; write the table ORDER BY starttime")
	case !s.seen.Add(t.Job):
		row.Fail(c["vmId"], "a VM that is not there yet")
	}
	if err := row.Err(); err != nil {
		return err
	}
	if demand == nil {
		s.left = otherMachine
	}
	t.Demand = demand
	s.promise(&t)
	s.at, s.latest = at, t
	return nil
}

// promise gives the task the priority that goes with the VM's: 0 is high, 1 is low.
func (s *Source) promise(t *trace.Task) {
	switch high := t.Priority == 0; {
	case !high:
		t.Priority = 0
	case s.options.Movable:
		t.Priority = movable
	default:
		t.Priority = production
	}
	t.Unowned = !s.options.Movable
}

// duration is so many billionths of a day.
func duration(days int64) cluster.Time {
	return cluster.Time(days) * (cluster.Day / (perUnit / 10)) / 10
}

// Notes counts the VMs that were left out so far, by their reason.
func (s *Source) Notes() []string {
	var all []string
	for i, what := range [omissions]string{
		otherMachine: fmt.Sprintf("VMs of types that do not run on machine %d", s.machine), gone: "VMs that ended before the trace began",
	} {
		if s.omitted[i] > 0 {
			all = append(all, fmt.Sprintf("left out %d %s", s.omitted[i], what))
		}
	}
	return all
}

// Skipped counts the broken lines that were passed over, with the first few.
func (s *Source) Skipped() (count int, first []*trace.Error) { return s.skips.Count, s.skips.First }

// Close closes the file. It may be called more than once.
func (s *Source) Close() error { return s.vms.Close() }
