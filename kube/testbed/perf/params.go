package perf

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// This file puts the parameters of a workload into an operation, before it is decoded: countParam: $nodes becomes count: 5, the
// templateParams $x and $x|default become the values that they stand for, and paths become those of files.

// resolver completes the operations of one workload.
type resolver struct {
	dir         string
	podTemplate string // of pods whose operation names none
	params      map[string]any
	read        map[string]bool // the parameters that were asked for
}

// parameterized are the fields that may be written as a parameter, under the name with Param behind.
func parameterized() []string {
	return []string{"count", "countMultiplier", "duration", "signatureBatchSize", "steadyState"}
}

// ops reads one entry of workloadTemplate, which is one operation, or several when it is a set of them. Its errors begin with a colon, or with
// the opcode in parentheses.
func (r *resolver) ops(text json.RawMessage) ([]Op, error) {
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil || fields == nil {
		return nil, errors.New(": want a mapping with an opcode")
	}
	opcode, _ := fields["opcode"].(string)
	fail := func(err error) ([]Op, error) { return nil, fmt.Errorf(" (%s): %w", opcode, err) }
	if opcode == "createPodSets" {
		ops, err := r.podSets(fields)
		if err != nil {
			return fail(err)
		}
		return ops, nil
	}
	empty, known := opcodes()[opcode]
	if !known {
		return nil, fmt.Errorf(": there is no opcode %q", opcode)
	}
	if err := r.resolve(fields); err != nil {
		return fail(err)
	}
	delete(fields, "opcode")
	op := empty()
	if err := decode(fields, op); err != nil {
		return fail(err)
	}
	if pods, ok := op.(*CreatePods); ok && pods.Template == "" && r.podTemplate != "" {
		pods.Template = filepath.Join(r.dir, r.podTemplate)
	}
	if err := op.validate(); err != nil {
		return fail(err)
	}
	return []Op{op}, nil
}

// podSets unrolls createPodSets: pods as one operation says, in each of several namespaces.
func (r *resolver) podSets(fields map[string]any) ([]Op, error) {
	pods, ok := fields["createPodsOp"].(map[string]any)
	if !ok || pods["opcode"] != "createPods" {
		return nil, errors.New("createPodsOp: want a createPods")
	}
	delete(fields, "createPodsOp")
	delete(fields, "opcode")
	if err := r.resolve(fields); err != nil {
		return nil, err
	}
	var sets struct {
		Count           int
		NamespacePrefix string
	}
	if err := decode(fields, &sets); err != nil {
		return nil, err
	}
	if sets.Count < 0 || sets.Count > mostSets {
		return nil, fmt.Errorf("count: %d; want 0 to %d", sets.Count, mostSets)
	}
	var all []Op
	for i := range sets.Count {
		pods["namespace"] = fmt.Sprintf("%s-%d", sets.NamespacePrefix, i)
		text, err := json.Marshal(pods)
		if err != nil {
			return nil, fmt.Errorf("createPodsOp: %w", err)
		}
		ops, err := r.ops(text)
		if err != nil {
			return nil, fmt.Errorf("createPodsOp%w", err)
		}
		all = append(all, ops...)
	}
	return all, nil
}

// resolve replaces what stands for something else.
func (r *resolver) resolve(fields map[string]any) error {
	for _, name := range parameterized() {
		written, ok := fields[name+"Param"]
		if !ok {
			continue
		}
		delete(fields, name+"Param")
		text, _ := written.(string)
		param, ok := strings.CutPrefix(text, "$")
		if !ok {
			return fmt.Errorf("%sParam: %v; want $ and the name of a parameter", name, written)
		}
		value, ok := r.get(param)
		if !ok && name != "count" || !ok && !r.steady(fields) {
			return fmt.Errorf("%sParam: the workload has no parameter %q", name, param)
		}
		if ok {
			fields[name] = value
		}
	}
	if params, ok := fields["templateParams"].(map[string]any); ok {
		for name, value := range params {
			var err error
			if params[name], err = r.templateParam(value); err != nil {
				return fmt.Errorf("templateParams: %s: %w", name, err)
			}
		}
	}
	r.followPaths(fields)
	return nil
}

// steady reports whether the operation keeps a number of pods for a time. Some of upstream's workloads of that kind leave the number out.
func (r *resolver) steady(fields map[string]any) bool {
	param, _ := fields["steadyStateParam"].(string)
	value, _ := r.params[strings.TrimPrefix(param, "$")].(bool)
	return value
}

func (r *resolver) get(param string) (value any, ok bool) {
	value, ok = r.params[param]
	r.read[param] = true
	return value, ok
}

// templateParam is the value of a parameter of a template: a text that begins with $ names a parameter of the workload and, behind a bar, the
// value in YAML that it has otherwise.
func (r *resolver) templateParam(written any) (any, error) {
	text, ok := written.(string)
	if !ok || !strings.HasPrefix(text, "$") {
		return written, nil
	}
	param, otherwise, ok := strings.Cut(text[1:], "|")
	if value, has := r.get(param); has {
		return value, nil
	}
	if !ok {
		return nil, fmt.Errorf("the workload has no parameter %q, and there is no default", param)
	}
	var value any
	if err := yaml.Unmarshal([]byte(otherwise), &value); err != nil {
		return nil, fmt.Errorf("the default of %q: %w", param, err)
	}
	return value, nil
}

// followPaths makes the paths of templates those of files.
func (r *resolver) followPaths(fields map[string]any) {
	for name, value := range fields {
		switch value := value.(type) {
		case string:
			if strings.HasSuffix(strings.ToLower(name), "templatepath") && value != "" {
				fields[name] = filepath.Join(r.dir, value)
			}
		case []any:
			if strings.ToLower(name) != "templatepaths" {
				continue
			}
			paths := slices.Clone(value)
			for i := range paths {
				if path, ok := paths[i].(string); ok {
					paths[i] = filepath.Join(r.dir, path)
				}
			}
			fields[name] = paths
		}
	}
}

// decode makes fields those of a type, all of which must be known.
func decode(fields map[string]any, into any) error {
	text, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	return strict(text, into)
}
