// Package alibaba2018 reads Alibaba's cluster trace of 2018 (cluster-trace-v2018): eight days of some 4,000 machines, on which
// containers of online services run beside batch jobs. No bytes of it were at hand: it is written from the published schema,
// schema.txt and trace_2018.md of alibaba/clusterdata, and tested on made-up rows of that schema.
//
// A folder holds the tables, comma-separated lines without a line that names the columns, each perhaps with .gz:
//
//	machine_meta.csv     must be there
//	container_meta.csv   the services
//	batch_task.csv       the batch jobs; one of these two must be there
//
// batch_instance.csv and the tables of usage are not read. Rows are put in the order of time, what does not fit in memory in
// a temporary file (internal/spill). Times are in seconds; 0 is before, or after, the eight days.
//
// # Containers
//
// A container is a task from its first row on until a row says that it has stopped, when it is killed; what else its rows
// say, of another machine as of other statuses, is an outcome. One that has a row of time 0 runs on its machine at the
// start. The containers of an app_du are a job, long-running and a service. cpu_limit is not read.
//
// # Batch
//
// A row of batch_task is a job here, of as many equal tasks as it has instances: they ask for plan_cpu and plan_mem each, come
// when the row starts and work until it ends, as only batch_instance, 20 GB of it, says how long each of them took.
// So their work is that of the longest, with its waiting. A row without an end never ends, one without a start was there at
// the start of the trace; with neither it is left out. The status Failed fails.
//
// By its name a task of a DAG waits for others: R4_2 for the task 2 of its job. The model has no such order; as each comes when
// it started in the trace, the order is that of the trace. A note counts them.
//
// # What is made of numbers
//
// The kinds are cpu in cores, of which the trace counts hundredths, and memory in shares of the largest machine, of which it
// counts hundredths, too. -1 and 101 are invalid there, and count as 0. Containers have priority 9 and class 3, as services of
// 2011 have, and batch has priority 2 and class 0: that is ours. Failure domains are groups of nodes.
package alibaba2018

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/spill"
	"fairlead.dev/fairlead/sim/trace"
)

// The kinds, in the order of their vectors.
const (
	cpu = iota
	memory

	core    = 1000
	largest = 10_000_000
)

// What a sorted record is, in the order of records of one moment.
const (
	machineRow = iota
	containerRow
	batchRow
)

// firstBatch is the number of the first batch job. Services are numbered from 0.
const firstBatch = 1 << 32

// Options says how to read the trace.
type Options struct {
	// Lenient leaves out broken rows and counts them. A gzip file that is cut short ends there.
	Lenient bool
}

// Source streams a trace. It is a trace.Source.
type Source struct {
	skips    trace.Skips
	sorted   *spill.Sorter
	in       *spill.Reader
	texts    spill.Texts
	machines map[string]*machine
	services services
	batch    batch
	demand   [2]int64 // of the latest record
	ignored  ignored
	last     cluster.Time // of the last start, end or row of a container
	err      error        // final, once set
}

// ignored counts what is not simulated.
type ignored struct {
	unused    int // rows of machines with a status other than USING
	timeless  int // rows of batch_task with neither start nor end
	dependent int // that depend on others
	invalid   int // amounts
}

var _ trace.EndingSource = (*Source)(nil)

// Open finds the tables in dir, and reads them once to put their rows in order.
func Open(dir string, o Options) (*Source, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	s := &Source{
		skips: trace.Skips{Lenient: o.Lenient}, sorted: spill.New(0), machines: map[string]*machine{},
		services: services{containers: map[string]*container{}, apps: map[string]*app{}},
	}
	if err := s.load(dir); err != nil {
		_ = s.Close() // the first error tells more
		return nil, err
	}
	return s, nil
}

func (s *Source) load(dir string) error {
	tables := 0
	for _, t := range []struct {
		name   string
		fields int
		read   func(*trace.Row) error
	}{{"machine_meta", 7, s.readMachine}, {"container_meta", 8, s.readContainer}, {"batch_task", 9, s.readBatch}} {
		file, err := find(dir, t.name)
		if errors.Is(err, fs.ErrNotExist) && t.name != "machine_meta" {
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: no machine_meta.csv is there, nor machine_meta.csv.gz; unpack machine_meta.tar.gz into the folder", dir)
		}
		if err == nil {
			err = trace.ReadRows(file, &s.skips, t.fields, t.read)
		}
		if err != nil {
			return err
		}
		tables++
	}
	if tables < 2 {
		return fmt.Errorf("%s: neither container_meta.csv nor batch_task.csv is there, with or without .gz; unpack one of their archives into the folder", dir)
	}
	var err error
	s.in, err = s.sorted.Read()
	return err
}

// find returns the file of a table.
func find(dir, table string) (string, error) {
	plain := filepath.Join(dir, table+".csv")
	_, err := os.Stat(plain)
	if err == nil {
		return plain, nil
	}
	_, err = os.Stat(plain + ".gz")
	return plain + ".gz", err
}

// Kinds are cpu and memory.
func (s *Source) Kinds() []cluster.Kind {
	return []cluster.Kind{
		cpu:    {Name: "cpu", Unit: "cores", PerUnit: core},
		memory: {Name: "memory", Unit: "of the largest node", PerUnit: largest},
	}
}

// End is when the last thing happens: the services do not end by themselves.
func (s *Source) End() cluster.Time { return s.last }

// Skipped returns how many broken rows were left out so far, and the first few of them.
func (s *Source) Skipped() (count int, first []*trace.Error) { return s.skips.Count, s.skips.First }

// Notes says what of the trace is not replayed.
func (s *Source) Notes() []string {
	var list []string
	for _, n := range []struct {
		count int
		text  string
	}{
		{s.ignored.unused, "%d rows of machines have a status other than USING, which is not read"},
		{s.ignored.timeless, "left out %d rows of batch_task with neither a start nor an end"},
		{s.ignored.dependent, "%d tasks of batch jobs wait for others by their names; each comes when it started in the trace"},
		{s.ignored.invalid, "%d amounts of -1 or 101 are invalid, and count as 0"},
	} {
		if n.count > 0 {
			list = append(list, fmt.Sprintf(n.text, n.count))
		}
	}
	return list
}

// Next fills in the next record.
func (s *Source) Next(r *trace.Record) error {
	for s.err == nil {
		if s.batch.next(s, r) {
			return nil
		}
		var made bool
		if made, s.err = s.row(r); made {
			return nil
		}
	}
	return s.err
}

// row takes the next row, and reports whether that made a record, which is then in r.
func (s *Source) row(r *trace.Record) (bool, error) {
	at, record, err := s.in.Next()
	if err != nil {
		return false, err // io.EOF, too
	}
	*r = trace.Record{Time: cluster.Time(at) * cluster.Second}
	c := spill.Cursor(record)
	switch c.Byte() {
	case machineRow:
		return s.machine(r, &c), nil
	case containerRow:
		return s.container(r, &c), nil
	default:
		s.batch.begin(s, r.Time, &c)
		return false, nil
	}
}

// Close removes the temporary file. It may be called more than once.
func (s *Source) Close() error {
	s.err = fs.ErrClosed
	return s.sorted.Close()
}

// second reads a time.
func second(row *trace.Row, field int, what string) int64 {
	return int64(row.Uint(field, what+", a whole number of seconds", 1<<40))
}

// amount reads a number of hundredths, of a core or of the largest machine, which may be missing or invalid.
func (s *Source) amount(row *trace.Row, field, places int, want string) int64 {
	switch text := string(row.Text(field)); {
	case text == "":
		return 0
	case text == "-1" || text == "-1.0" || places == memoryPlaces && (text == "101" || text == "101.0"):
		s.ignored.invalid++
		return 0
	}
	return row.Decimal(field, want, places, trace.Up)
}

// What is behind the point of hundredths of a core, so that thousandths are whole, and of hundredths of the largest machine.
const (
	cpuPlaces    = 1
	memoryPlaces = 5
)

// decimal reads a whole number that may be written as 3.0.
func decimal(row *trace.Row, field int, want string, most int64) int64 {
	v := row.Decimal(field, want, 0, trace.Up)
	if v > most {
		row.Fail(field, want)
		return 0
	}
	return v
}

// numbered appends the decimal number to a name.
func numbered(name string, n int64) string { return name + "/" + strconv.FormatInt(n, 10) }
