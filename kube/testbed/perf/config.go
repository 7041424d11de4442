package perf

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/kube/testbed"
)

// This file reads performance-config.yaml: test cases, each a list of operations with parameters, and workloads, each of which gives the
// parameters values. What is not known is an error that says where it stands, as upstream's own reader has it: whoever skips a field
// measures something else. Parameters are put in while reading, so that a workload is complete: operations, and nothing left to look up.

// configFile is the name of all of them.
const configFile = "performance-config.yaml"

// folder is where they are in the source of Kubernetes.
const folder = "test/integration/scheduler_perf"

// Workload is one workload of one test case.
type Workload struct {
	// Config is the folder of its file below scheduler_perf, for example dra/partitionabledevices.
	Config string
	// Case and Name are those of the test case and of the workload.
	Case, Name string
	Labels     []string
	// Gates are the feature gates that it sets.
	Gates map[string]bool
	// SchedulerConfig is the path of the KubeSchedulerConfiguration that it asks for, if it does.
	SchedulerConfig string
	Ops             []Op
	// Unread are the parameters that no operation reads. Upstream has them for Go code beside the file.
	Unread []string
}

// FullName is the name by which it is asked for.
func (w *Workload) FullName() string { return w.Case + "/" + w.Name }

// FeatureGates is what --feature-gates should say.
func (w *Workload) FeatureGates() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(w.Gates)) {
		list = append(list, fmt.Sprintf("%s=%t", name, w.Gates[name]))
	}
	return strings.Join(list, ",")
}

// Configs lists the folders of all files of the Kubernetes that go.mod requires, relative to root, where they are.
func Configs(ctx context.Context) (root string, configs []string, err error) {
	source, err := testbed.KubernetesSource(ctx)
	if err != nil {
		return "", nil, err
	}
	root = filepath.Join(source, folder)
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != configFile {
			return err
		}
		config, err := filepath.Rel(root, filepath.Dir(path))
		configs = append(configs, config)
		return err
	})
	if err == nil && len(configs) == 0 {
		err = fs.ErrNotExist
	}
	if err != nil {
		return "", nil, fmt.Errorf("look for %s in %s: %w", configFile, root, err)
	}
	return root, configs, nil
}

// Load reads a file and every template that it names. config is what the workloads say of where they are from.
func Load(path, config string) ([]Workload, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read workloads: %w", err)
	}
	list, err := Parse(text, filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i := range list {
		w := &list[i]
		w.Config = config
		for _, op := range w.Ops {
			for _, path := range op.templates() {
				if _, err := readTemplate(path); err != nil {
					return nil, fmt.Errorf("%s: %s: %w", path, w.FullName(), err)
				}
			}
		}
	}
	return list, nil
}

// testCase is a test case as it is written. Upstream compares its own metrics of the scheduler's process with thresholds; both are read, so
// that mistakes in them are found, and left alone.
type testCase struct {
	Name                           string
	FeatureGates                   map[string]bool
	MetricsCollectorConfig         *metrics
	WorkloadTemplate               []json.RawMessage
	Workloads                      []json.RawMessage
	SchedulerConfigPath            string
	DefaultPodTemplatePath         string
	Labels                         []string
	DefaultThresholdMetricSelector *metricSelector
}

// values is a workload as it is written.
type values struct {
	Name                    string
	Params                  map[string]any
	Labels                  []string
	Threshold               threshold
	ThresholdMetricSelector *metricSelector
	FeatureGates            map[string]bool
}

type metrics struct {
	Metrics map[string][]struct {
		Label  string
		Values []string
	}
}

type metricSelector struct {
	Name        string
	Labels      map[string]string
	DataBucket  string
	ExpectLower bool
}

// threshold is one number, or one for each topic.
type threshold map[string]float64

// UnmarshalJSON reads either.
func (t *threshold) UnmarshalJSON(text []byte) error {
	var one float64
	if err := json.Unmarshal(text, &one); err == nil {
		*t = threshold{"": one}
	} else if err := json.Unmarshal(text, (*map[string]float64)(t)); err != nil {
		return errors.New("a threshold is a number, or a number for each topic")
	}
	for _, n := range *t {
		if n < 0 {
			return fmt.Errorf("a threshold of %g; want 0, which is none, or more", n)
		}
	}
	return nil
}

// Parse reads the text of a file. Paths in it are relative to dir; they are not followed.
func Parse(text []byte, dir string) ([]Workload, error) {
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(asJSON, &raw); err != nil {
		return nil, fmt.Errorf("want a list of test cases: %w", err)
	}
	if len(raw) == 0 {
		return nil, errors.New("no test case")
	}
	var all []Workload
	seen := map[string]bool{}
	for i, text := range raw {
		var c testCase
		if err := strict(text, &c); err != nil {
			return nil, fmt.Errorf("test case %d (%s): %w", i, c.Name, err)
		}
		if c.Name == "" || seen[c.Name] {
			return nil, fmt.Errorf("test case %d has the name %q; want one that no other has", i, c.Name)
		}
		seen[c.Name] = true
		list, err := c.workloads(dir)
		if err != nil {
			return nil, fmt.Errorf("test case %s: %w", c.Name, err)
		}
		all = append(all, list...)
	}
	return all, nil
}

// workloads completes the workloads of a test case.
func (c *testCase) workloads(dir string) ([]Workload, error) {
	switch {
	case len(c.Workloads) == 0:
		return nil, errors.New("no workload")
	case len(c.WorkloadTemplate) == 0:
		return nil, errors.New("no operation in workloadTemplate")
	}
	var list []Workload
	seen := map[string]bool{}
	for i, text := range c.Workloads {
		var v values
		if err := strict(text, &v); err != nil {
			return nil, fmt.Errorf("workload %d (%s): %w", i, v.Name, err)
		}
		if v.Name == "" || seen[v.Name] {
			return nil, fmt.Errorf("workload %d has the name %q; want one that no other has", i, v.Name)
		}
		seen[v.Name] = true
		w := Workload{Case: c.Name, Name: v.Name, Labels: slices.Concat(c.Labels, v.Labels), Gates: map[string]bool{}}
		maps.Copy(w.Gates, c.FeatureGates)
		maps.Copy(w.Gates, v.FeatureGates)
		if c.SchedulerConfigPath != "" {
			w.SchedulerConfig = filepath.Join(dir, c.SchedulerConfigPath)
		}
		r := resolver{dir: dir, podTemplate: c.DefaultPodTemplatePath, params: v.Params, read: map[string]bool{}}
		for n, text := range c.WorkloadTemplate {
			ops, err := r.ops(text)
			if err != nil {
				return nil, fmt.Errorf("workload %s: workloadTemplate[%d]%w", v.Name, n, err)
			}
			w.Ops = append(w.Ops, ops...)
		}
		if !slices.ContainsFunc(w.Ops, measures) {
			return nil, errors.New("no operation measures: none has collectMetrics, and there is no stopCollectingMetrics")
		}
		for _, name := range slices.Sorted(maps.Keys(v.Params)) {
			if !r.read[name] {
				w.Unread = append(w.Unread, name)
			}
		}
		list = append(list, w)
	}
	return list, nil
}

// strict decodes JSON of which every field is known.
func strict(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}
