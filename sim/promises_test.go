package sim

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/sim/trace"
)

// crowded is some hours of tasks of all classes and a few users on too few nodes, so that
// many wait and are preempted, and some are there at the end.
func crowded(seed uint64) *list {
	r := rand.New(rand.NewPCG(seed, 7))
	l := &list{kinds: []cluster.Kind{{Name: "memory", PerUnit: 1000}, {Name: "cpu", Unit: "cores", PerUnit: 1000}}}
	for n := range uint64(5) {
		l.records = append(l.records, trace.Record{What: trace.NodeAdded, Node: trace.Node{ID: n, Capacity: cluster.Vector{8000, 8000}}})
	}
	for job := range uint64(160) {
		work := cluster.Time(1+r.IntN(5000)) * cluster.Second
		if job%20 == 0 {
			work = cluster.Never
		}
		l.records = append(l.records, trace.Record{Time: cluster.Time(r.IntN(4*3600_000)) * cluster.Millisecond, What: trace.TaskSubmitted, Task: trace.Task{
			Job: job, User: "user " + strconv.FormatUint(job%7, 10), Priority: int32(r.IntN(12)), Work: work,
			Demand: cluster.Vector{int64(r.IntN(3000)), int64(500 + r.IntN(4000))},
		}})
	}
	slices.SortStableFunc(l.records, func(a, b trace.Record) int { return cmp.Compare(a.Time, b.Time) })
	return l
}

// taskLine is a line of the file of tasks, with what the trace says of the task.
type taskLine struct {
	trace.Task
	class                              string
	submit, waiting, overhead, running float64 // s
	attempts                           int
}

// taskLinesOf reads the file of tasks of a run of the source, by class.
func taskLinesOf(t *testing.T, file []byte, l *list) map[string][]taskLine {
	t.Helper()
	tasks := map[string]trace.Task{}
	for _, r := range l.records {
		if r.What == trace.TaskSubmitted {
			tasks[strconv.FormatUint(r.Task.Job, 10)] = r.Task
		}
	}
	rows, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	byClass := map[string][]taskLine{}
	for _, row := range rows[1:] {
		number := func(column string) float64 {
			v, err := strconv.ParseFloat(row[slices.Index(rows[0], column)], 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		line := taskLine{
			Task: tasks[row[0]], submit: number("submit_s"), waiting: number("waiting_s"), overhead: number("overhead_s"),
			running: number("running_s"), attempts: int(number("attempts")),
		}
		line.class = "bronze"
		if line.Priority > 8 {
			line.class = "gold"
		} else if line.Priority >= 2 {
			line.class = "silver"
		}
		byClass[line.class] = append(byClass[line.class], line)
	}
	return byClass
}

// promisedBy is the table of the paper, by hand: target, and price of a unit-hour.
func promisedBy(name string) float64 {
	return map[string]float64{"gold": 1, "silver": 0.9, "bronze": 0.5}[name]
}

// millionths is x rounded down to a millionth, where x is a product of decimals.
func millionths(factors ...float64) float64 {
	product := big.NewRat(1, 1)
	for _, f := range factors {
		r, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'f', -1, 64))
		product.Mul(product, r)
	}
	product.Mul(product, big.NewRat(1_000_000, 3600))
	whole := new(big.Int).Quo(product.Num(), product.Denom())
	return float64(whole.Int64()) / 1e6
}

// recomputed is the class from the file of tasks, slowly and plainly. Each task starts for
// so long when it first runs.
func recomputed(target, starts float64, tasks []taskLine) (p report.Promise, b report.Bill) {
	hours := map[int][]float64{}
	n, missed, age, overhead, worked := 0.0, 0.0, 0.0, 0.0, 0.0
	for _, t := range tasks {
		cpu := float64(t.Demand[1]) / 1000
		life := t.waiting + t.overhead + t.running
		b.Revenue += report.Number(millionths(cpu, t.running, target))
		if t.running > 0 {
			worked++
			b.Cores += report.Number(cpu)
		}
		if life == 0 {
			continue
		}
		n++
		age += life
		overhead += t.overhead
		a := t.running / life
		hours[int(t.submit/3600)] = append(hours[int(t.submit/3600)], a)
		if restarting := max(t.overhead-starts, 0); a >= target-1e-12 || target == 1 && t.waiting+restarting <= 1+1e-9 {
			p.Fulfilment++
			continue
		}
		missed++
		p.Deficit += report.Number(target - a)
		back := 1.0
		switch {
		case a/target >= 0.99:
			back = 0.1
		case a/target >= 0.95:
			back = 0.3
		}
		owed := math.Floor(target*life*1e6+1e-6) / 1e6
		if t.Work != cluster.Never {
			owed = min(owed, t.Work.Seconds())
		}
		p.Penalties += report.Number(math.Floor(millionths(cpu, owed, target)*back*1e6+1e-6) / 1e6)
	}
	for _, values := range hours {
		pairs, sum := 0.0, 0.0
		for _, x := range values {
			sum += x
			for _, y := range values {
				pairs += math.Abs(x - y)
			}
		}
		if sum > 0 { // weighted by tasks: pairs / (2n²·mean) × n
			p.Gini += report.Number(pairs / (2 * sum) / n)
		}
	}
	p.Target = report.Number(target)
	p.Fulfilment /= report.Number(n)
	p.Deficit /= report.Number(max(missed, 1))
	b.Cores /= report.Number(max(worked, 1))
	b.Overhead = report.Number(overhead / age)
	return p, b
}

// Every metric of a class against a plain recomputation from the file of tasks.
func TestPromisesAgainstTheTasksFile(t *testing.T) {
	table := class.Google()
	table.Priced = "cpu"
	broken, preempted := 0, 0
	for seed := range uint64(8) {
		source := crowded(seed)
		var tasks bytes.Buffer
		world := World{Seed: seed, KeepWork: seed%2 == 0, Overheads: Overheads{Hot: []cluster.Time{2 * cluster.Second}, Cold: []cluster.Time{7 * cluster.Second}}}
		starts := 7.
		if seed%4 == 3 {
			world.Overheads, starts = Overheads{}, 0
		}
		records := &list{source.kinds, source.records}
		r, err := Run(Config{
			Source: source, Lanes: lane(t, "priority"), Classes: table, Until: 5 * cluster.Hour, World: world,
			Planner: Planner{Time: Zero}, Output: Output{Tasks: &tasks},
		})
		if err != nil {
			t.Fatal(err)
		}
		preempted += r.Tasks.Preempted
		for name, lines := range taskLinesOf(t, tasks.Bytes(), records) {
			wantPromise, wantBill := recomputed(promisedBy(name), starts, lines)
			got := r.Classes[name]
			if len(lines) != got.Submitted {
				t.Errorf("seed %d, %s: %d lines, %d tasks", seed, name, len(lines), got.Submitted)
			}
			if got.Fulfilment < 1 {
				broken++
			}
			for what, pair := range map[string][2]report.Number{
				"target": {got.Target, wantPromise.Target}, "slo_fulfilment": {got.Fulfilment, wantPromise.Fulfilment},
				"deficit": {got.Deficit, wantPromise.Deficit}, "gini": {got.Gini, wantPromise.Gini},
				"penalties": {got.Penalties, wantPromise.Penalties}, "overhead": {got.Overhead, wantBill.Overhead},
				"cores": {got.Cores, wantBill.Cores}, "revenue": {got.Revenue, wantBill.Revenue},
			} {
				if math.Abs(float64(pair[0]-pair[1])) > 1e-7 {
					t.Errorf("seed %d, %s: %s is %v, recomputed %v", seed, name, what, pair[0], pair[1])
				}
			}
		}
	}
	if broken < 8 || preempted < 20 {
		t.Errorf("%d classes with broken promises and %d preemptions in all runs: too few to say anything", broken, preempted)
	}
}

// Of a class whose tasks come when the run ends nothing was kept and nothing broken: it has
// no numbers of its promise, and results say of no promise that it was broken.
func TestNobodyToKeepAPromiseTo(t *testing.T) {
	task := trace.Task{Priority: 11, Demand: cluster.Vector{1}, Work: cluster.Minute}
	for _, c := range []struct {
		at   cluster.Time
		kept bool // there is a promise, and it is kept
	}{{cluster.Hour, false}, {cluster.Hour - cluster.Second, true}} {
		l := &list{kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1}}, records: []trace.Record{
			{What: trace.NodeAdded, Node: trace.Node{ID: 1, Capacity: cluster.Vector{8}}},
			{Time: c.at, What: trace.TaskSubmitted, Task: task},
		}}
		r, err := Run(Config{Source: l, Lanes: lane(t, "priority"), Until: cluster.Hour, Planner: Planner{Time: Zero}})
		if err != nil {
			t.Fatal(err)
		}
		gold := r.Classes["gold"]
		if gold.Submitted != 1 || (gold.Promise != nil) != c.kept || c.kept && gold.Fulfilment != 1 {
			t.Errorf("submitted at %v: %+v, %+v", c.at, gold, gold.Promise)
		}
		var table bytes.Buffer
		if err := report.Write(&table, report.Table, report.Results{Runs: []report.Run{r}}); err != nil || strings.Contains(table.String(), "Promises") {
			t.Errorf("submitted at %v: %v\n%s", c.at, err, &table)
		}
	}
}

// What is priced has to be there, and prices have to be right, before a run begins.
func TestPricesAreChecked(t *testing.T) {
	for want, change := range map[string]func(*class.Table){
		"the table of classes: priced: no node has the kind gpu; there are memory, cpu": func(c *class.Table) { c.Priced = "gpu" },
		`class "gold": price: urgency is -1, want 0 to 100`:                             func(c *class.Table) { c.Classes[0].Price.Urgency = -cluster.Whole },
	} {
		table := class.Google()
		change(table)
		_, err := Run(Config{Source: crowded(1), Lanes: lane(t, "priority"), Classes: table})
		if fmt.Sprint(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
