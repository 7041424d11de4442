package fleet_test

import (
	"compress/gzip"
	"encoding/csv"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"fairlead.dev/fairlead/capacity/fleet"
	"fairlead.dev/fairlead/cluster"
)

// openb is the problem of Alibaba's trace: its kinds of nodes are the offers, at prices by what they have.
func openb(t *testing.T, list string) *fleet.Problem {
	t.Helper()
	data := os.Getenv("FAIRLEAD_DATA")
	if data == "" {
		t.Skip("FAIRLEAD_DATA is not set")
	}
	p := &fleet.Problem{Kinds: []cluster.Kind{{Name: "cpu", PerUnit: 1000}, {Name: "memory", PerUnit: 1024}, {Name: "gpu", PerUnit: 1000, Devices: true}}}
	offers := map[string]bool{}
	var models []string
	price := map[string]int64{"": 0, "T4": 350, "P100": 800, "V100M16": 1500, "V100M32": 2000, "A10": 900, "G2": 1000, "G3": 1800}
	for _, row := range rows(t, filepath.Join(data, "alibaba-openb", "openb_node_list_all_node.csv")) {
		key := strings.Join(row[1:], " ")
		if offers[key] {
			continue
		}
		offers[key] = true
		cpu, memory, gpu := number(row[1]), number(row[2]), number(row[3])
		models = append(models, row[4])
		p.Offers = append(p.Offers, fleet.Offer{Name: key, Room: cluster.Vector{cpu, memory, 1000 * gpu}, Price: cpu*40/1000 + memory*5/1024 + gpu*price[row[4]]})
	}
	tasks := map[string]int{}
	for _, row := range rows(t, filepath.Join(data, "alibaba-openb", "openb_pod_list_"+list+".csv.gz")) {
		spec := ""
		if len(row) > 10 { // the lists with devices of a model have a column more
			spec = row[5]
		}
		key := strings.Join(row[1:5], " ") + " " + spec
		at, known := tasks[key]
		if !known {
			at = len(p.Tasks)
			tasks[key] = at
			gpus, share := number(row[3]), number(row[4])
			one := fleet.Tasks{Demand: cluster.Vector{number(row[1]), number(row[2]), gpus * share}, May: make([]bool, len(p.Offers))}
			for o, model := range models {
				one.May[o] = spec == "" || strings.Contains("|"+spec+"|", "|"+model+"|")
			}
			p.Tasks = append(p.Tasks, one)
		}
		p.Tasks[at].Count++
	}
	return p
}

func rows(t *testing.T, path string) [][]string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	var in io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(file); err != nil {
			t.Fatal(err)
		}
	}
	all, err := csv.NewReader(in).ReadAll()
	if err != nil || len(all) < 2 {
		t.Fatal(err)
	}
	return all[1:]
}

func number(text string) int64 {
	v, _ := strconv.ParseInt(text, 10, 64)
	return v
}

// long reports whether all clusters are to be solved, and not some of them.
func long() bool { return os.Getenv("FAIRLEAD_LONG") != "" }

// TestOpenb holds the gap on lists of the trace.
func TestOpenb(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds a list")
	}
	lists := []string{"default", "gpushare100"}
	if long() {
		lists = append(lists, "multigpu50", "gpuspec33", "cpu250")
	}
	for _, list := range lists {
		solveWithin(t, list, openb(t, list))
	}
}

// solveWithin wants a plan that is sound, and a gap of 3 % at most.
func solveWithin(t *testing.T, name string, p *fleet.Problem) {
	t.Helper()
	plan, err := fleet.Solve(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d sorts of tasks, %d nodes, price %d, bound %.0f, gap %.2f %%", name, len(p.Tasks), len(plan.Nodes), plan.Price, plan.Bound, 100*plan.Gap())
	if err := check(p, &plan); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if plan.Gap() > 0.03 {
		t.Errorf("%s: the gap is %.2f %%, want 3 %% at most", name, 100*plan.Gap())
	}
}
