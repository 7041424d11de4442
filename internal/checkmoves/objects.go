package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// This file is the objects of a dump as far as they matter to moves, and what Kubernetes makes of selectors and quantities.

type object struct {
	Kind     string
	Metadata struct {
		Name, Namespace string
		Labels          map[string]string
		OwnerReferences []struct{ Kind string }
	}
	Spec struct {
		// of nodes
		Taints        []taint
		Unschedulable bool
		// of pods
		NodeName                   string
		NodeSelector               map[string]string
		Tolerations                []toleration
		Containers, InitContainers []container
		Volumes                    []struct {
			PersistentVolumeClaim struct{ ClaimName string }
		}
		Affinity struct {
			NodeAffinity                 struct{ Required nodeSelector }
			PodAffinity, PodAntiAffinity struct{ Required []podTerm }
		}
		TopologySpreadConstraints []spread
		// of budgets, and of who makes pods
		Selector       *selector
		MinAvailable   any
		MaxUnavailable any
		Replicas       *int
		// of claims and volumes
		VolumeName   string
		NodeAffinity struct{ Required nodeSelector }
	}
	Status struct {
		Allocatable map[string]string
		Conditions  []struct{ Type, Status string }
	}
}

type (
	taint      struct{ Key, Value, Effect string }
	toleration struct{ Key, Operator, Value, Effect string }
	container  struct {
		Resources     struct{ Requests map[string]string }
		RestartPolicy string
		Ports         []struct {
			HostPort int
			Protocol string
		}
	}
	expression struct {
		Key, Operator string
		Values        []string
	}
	selector struct {
		MatchLabels      map[string]string
		MatchExpressions []expression
	}
	nodeSelector struct {
		NodeSelectorTerms []struct{ MatchExpressions, MatchFields []expression }
	}
	podTerm struct {
		LabelSelector *selector
		TopologyKey   string
	}
	spread struct {
		MaxSkew                        int
		TopologyKey, WhenUnsatisfiable string
		LabelSelector                  *selector
	}
)

// read reads a dump: documents of YAML or JSON, each an object or a list of them.
func read(text []byte) (all []*object, err error) {
	// Only what is required holds a pod back; the long name is Kubernetes'.
	text = bytes.ReplaceAll(text, []byte("requiredDuringSchedulingIgnoredDuringExecution"), []byte("required"))
	d := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var document any
		if err := d.Decode(&document); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		asJSON, err := json.Marshal(document)
		if err != nil {
			return nil, err
		}
		var list struct {
			Kind  string
			Items []*object
		}
		var one object
		if err := json.Unmarshal(asJSON, &list); err != nil {
			return nil, err
		}
		if list.Kind == "List" {
			all = append(all, list.Items...)
		} else if err := json.Unmarshal(asJSON, &one); err != nil {
			return nil, err
		} else {
			all = append(all, &one)
		}
	}
}

func (o *object) name() string {
	if o.Metadata.Namespace == "" {
		return "default/" + o.Metadata.Name
	}
	return o.Metadata.Namespace + "/" + o.Metadata.Name
}

func (o *object) owner() string {
	if len(o.Metadata.OwnerReferences) == 0 {
		return ""
	}
	return o.Metadata.OwnerReferences[0].Kind
}

func (e *expression) matches(labels map[string]string) bool {
	value, has := labels[e.Key]
	switch e.Operator {
	case "In":
		return has && slices.Contains(e.Values, value)
	case "NotIn":
		return !has || !slices.Contains(e.Values, value)
	case "Exists":
		return has
	case "DoesNotExist":
		return !has
	}
	a, err := strconv.ParseInt(value, 10, 64)
	b, wrong := strconv.ParseInt(strings.Join(e.Values, ""), 10, 64)
	return has && err == nil && wrong == nil && (e.Operator == "Gt" && a > b || e.Operator == "Lt" && a < b)
}

func allMatch(of []expression, labels map[string]string) bool {
	return !slices.ContainsFunc(of, func(e expression) bool { return !e.matches(labels) })
}

func (s *selector) matches(labels map[string]string) bool {
	if s == nil {
		return false
	}
	for key, value := range s.MatchLabels {
		if has, is := labels[key]; !is || has != value {
			return false
		}
	}
	return allMatch(s.MatchExpressions, labels)
}

// matches reports whether a node has what one of the terms asks for; without terms each has.
func (s *nodeSelector) matches(n *object) bool {
	if len(s.NodeSelectorTerms) == 0 {
		return true
	}
	for _, term := range s.NodeSelectorTerms {
		if allMatch(term.MatchExpressions, n.Metadata.Labels) && allMatch(term.MatchFields, map[string]string{"metadata.name": n.Metadata.Name}) {
			return true
		}
	}
	return false
}

func (t *toleration) tolerates(of taint) bool {
	return (t.Effect == "" || t.Effect == of.Effect) && (t.Key == "" && t.Operator == "Exists" || t.Key == of.Key && (t.Operator == "Exists" || t.Value == of.Value))
}

// quantity reads a quantity, in thousandths.
func quantity(text string) (float64, error) {
	factor := 1000.0
	for suffix, by := range map[string]float64{
		"m": 1, "k": 1e6, "M": 1e9, "G": 1e12, "T": 1e15, "Ki": 1000 << 10, "Mi": 1000 << 20, "Gi": 1000 << 30, "Ti": 1000 << 40,
	} {
		if digits, is := strings.CutSuffix(text, suffix); is {
			text, factor = digits, by
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("quantity %q is not understood", text)
	}
	return v * factor, nil
}
