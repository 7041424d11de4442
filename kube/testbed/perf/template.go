package perf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

// This file makes objects of upstream's templates, which are YAML with Go's text/template and a few functions of upstream's about numbers:
// those of YAML are floating-point here, as JSON has no others, and parameters may also be texts.

// functions are those that templates may call.
func functions() template.FuncMap {
	return template.FuncMap{
		"AddFloat":      sum,
		"AddInt":        func(list ...any) (int, error) { return whole(sum(list...)) },
		"DivideFloat":   quotient,
		"DivideInt":     func(a, b any) (int, error) { return whole(quotient(a, b)) },
		"Int":           func(a any) (int, error) { return whole(number(a)) },
		"JSON":          asJSON,
		"Mod":           remainder,
		"MultiplyFloat": product,
		"MultiplyInt":   func(list ...any) (int, error) { return whole(product(list...)) },
		"SubtractFloat": difference,
		"SubtractInt":   func(a, b any) (int, error) { return whole(difference(a, b)) },
	}
}

func number(a any) (float64, error) {
	switch a := a.(type) {
	case float64:
		return a, nil
	case int:
		return float64(a), nil
	case string:
		return strconv.ParseFloat(a, 64)
	}
	return 0, fmt.Errorf("%v (%T) is no number", a, a)
}

// whole cuts off the fraction.
func whole(a float64, err error) (int, error) { return int(a), err }

func numbers(list []any) ([]float64, error) {
	var all []float64
	for _, a := range list {
		n, err := number(a)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

func sum(list ...any) (total float64, err error) {
	all, err := numbers(list)
	for _, n := range all {
		total += n
	}
	return total, err
}

func product(list ...any) (float64, error) {
	all, err := numbers(list)
	total := 1.0
	for _, n := range all {
		total *= n
	}
	return total, err
}

func difference(a, b any) (float64, error) {
	all, err := numbers([]any{a, b})
	if err != nil {
		return 0, err
	}
	return all[0] - all[1], nil
}

func quotient(a, b any) (float64, error) {
	all, err := numbers([]any{a, b})
	switch {
	case err != nil:
		return 0, err
	case all[1] == 0:
		return 0, fmt.Errorf("%v is divided by zero", a)
	}
	return all[0] / all[1], nil
}

func remainder(a, b any) (int, error) {
	all, err := numbers([]any{a, b})
	switch {
	case err != nil:
		return 0, err
	case int(all[1]) == 0:
		return 0, fmt.Errorf("%v is divided by zero", a)
	}
	return int(all[0]) % int(all[1]), nil
}

func asJSON(a any) (string, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(a)
	return strings.TrimSpace(text.String()), err
}

// readTemplate reads a file.
func readTemplate(path string) (*template.Template, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read a template: %w", err)
	}
	return template.New(filepath.Base(path)).Funcs(functions()).Parse(string(text))
}

// stencil makes objects of a template, each of which knows its index and how many there are.
type stencil struct {
	template *template.Template
	params   map[string]any
	count    int
}

func newStencil(path string, params map[string]any, count int) (*stencil, error) {
	t, err := readTemplate(path)
	if err != nil {
		return nil, err
	}
	return &stencil{t, params, count}, nil
}

// fill makes the object with that index, all of whose fields must be known.
func (s *stencil) fill(index int, object any) error {
	env := map[string]any{}
	maps.Copy(env, s.params)
	env["Index"], env["Count"] = index, s.count
	var text bytes.Buffer
	if err := s.template.Execute(&text, env); err != nil {
		return fmt.Errorf("fill in a template: %w", err)
	}
	if err := yaml.UnmarshalStrict(text.Bytes(), object); err != nil {
		return fmt.Errorf("template %s with %v: %w\n%s", s.template.Name(), env, err, text.Bytes())
	}
	return nil
}
