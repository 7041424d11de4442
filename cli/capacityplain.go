package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/setup"
	"fairlead.dev/fairlead/sim/trace"
)

// This file is the plain pod of capacity fit: it asks for so much, and for nothing else. It tolerates no taint.

// plainPod is how the pod of --cpu and --memory is called.
const plainPod = "plain"

// requests is what a plain pod asks for, by kind.
func (f *fitFlags) requests() (map[string]string, error) {
	all := map[string]string{}
	if f.request != "" {
		for part := range strings.SplitSeq(f.request, ",") {
			kind, amount, is := strings.Cut(part, "=")
			if !is || kind == "" || amount == "" {
				return nil, fmt.Errorf("--request: %q, want KIND=AMOUNT, such as nvidia.com/gpu=1", part)
			}
			all[kind] = amount
		}
	}
	for _, own := range [][2]string{{"cpu", f.cpu}, {"memory", f.memory}} {
		if own[1] == "" {
			continue
		}
		if all[own[0]] != "" {
			return nil, fmt.Errorf("--%s: --request says %s, too", own[0], own[0])
		}
		all[own[0]] = own[1]
	}
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		if _, _, err := amount(all[kind]); err != nil {
			return nil, fmt.Errorf("--%s: %w", cmp.Or(map[string]string{"cpu": "cpu", "memory": "memory"}[kind], "request"), err)
		}
	}
	return all, nil
}

// amount reads 2, 500m, 4GiB, 1Ti or 3G: a number, and whether it is of bytes.
func amount(text string) (value float64, bytes bool, err error) {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	factors := map[string]float64{
		"": 1, "m": 1e-3, "B": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
		"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50,
	}
	unit := text[len(digits):]
	factor, known := factors[unit]
	if !known {
		factor, known = factors[strings.TrimSuffix(unit, "B")]
	}
	value, wrong := strconv.ParseFloat(digits, 64)
	if wrong != nil || !known || !(value >= 0 && value <= 1e15) {
		return 0, false, fmt.Errorf("%q, want an amount such as 2, 500m or 4GiB", text)
	}
	return value * factor, unit != "" && unit != "m", nil
}

// plainManifest is the plain pod as Kubernetes has it.
func (f *fitFlags) plainManifest() []byte {
	requests, _ := f.requests() // check has said what is wrong
	for kind, q := range requests {
		requests[kind] = strings.TrimSuffix(q, "B")
	}
	text, err := json.Marshal(map[string]any{
		"kind": "Pod", "metadata": map[string]any{"name": plainPod},
		"spec": map[string]any{"containers": []any{map[string]any{"name": plainPod, "resources": map[string]any{"requests": requests}}}},
	})
	if err != nil {
		panic("cli: a pod is not JSON: " + err.Error())
	}
	return text
}

// withPlain is the source with the plain pod as one of its tasks. It tolerates no taint.
func (f *fitFlags) withPlain(source setup.Opened) (setup.Opened, error) {
	requests, _ := f.requests()
	kinds := source.Kinds()
	t := trace.Task{
		Job: math.MaxUint64, JobTasks: 0, Name: plainPod, Owner: plainPod, Work: cluster.Never, Demand: make(cluster.Vector, len(kinds)),
		Requirements: []cluster.Requirement{{Key: trace.Taints, Op: cluster.Equal}},
	}
	var names []string
	for k, kind := range kinds {
		names = append(names, kind.Name)
		if kind.Name == "pods" {
			t.Demand[k] = 1
		}
		text, asked := requests[kind.Name]
		if !asked {
			continue
		}
		delete(requests, kind.Name)
		q, err := quantityOf(kind, text)
		if err != nil {
			return source, err
		}
		t.Demand[k] = int64(math.Ceil(q))
	}
	for _, kind := range slices.Sorted(maps.Keys(requests)) {
		return source, nearest.Unknown("resource", kind, names)
	}
	return source.WithTask(t), nil
}

// quantityOf is an amount in the kind's smallest unit.
func quantityOf(kind cluster.Kind, text string) (float64, error) {
	value, bytes, err := amount(text)
	switch {
	case err != nil:
		return 0, err
	case bytes && kind.Unit == "GiB":
		value /= 1 << 30
	case bytes:
		return 0, fmt.Errorf("%s: %s is measured in %s here, want a number of that", text, kind.Name, cmp.Or(kind.Unit, "numbers"))
	case kind.Unit == "GiB":
		return 0, fmt.Errorf("%s: want an amount of %s with its unit, such as %sGiB", text, kind.Name, text)
	}
	return value * float64(max(kind.PerUnit, 1)), nil
}
