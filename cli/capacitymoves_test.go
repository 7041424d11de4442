package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// This file is the command moves of scripts: it replays the moves of an answer in JSON on the dump that it was asked
// of, by nothing but this file's own few lines. After each move no node is over its cores, memory and pods, and nobody
// moves who is of a DaemonSet or of nobody.

type dumped struct {
	Kind     string
	Metadata struct {
		Name, Namespace string
		OwnerReferences []struct{ Kind string } `yaml:"ownerReferences"`
	}
	Spec struct {
		NodeName   string `yaml:"nodeName"`
		Containers []struct {
			Resources struct{ Requests map[string]string }
		}
	}
	Status struct{ Allocatable map[string]string }
}

type answered struct {
	Goal  string
	Done  []struct{ Node string }
	Left  []struct{ Node string }
	Moves []struct{ Pod, From, To string }
	Bound int
}

// replayMoves says what is wrong with the answer, and how many moves it replayed.
func replayMoves(answer, dump []byte) (int, error) {
	var a answered
	if err := json.Unmarshal(answer, &a); err != nil {
		return 0, err
	}
	room, pods := map[string]map[string]float64{}, map[string]*dumped{}
	d := yaml.NewDecoder(bytes.NewReader(dump))
	for {
		o := &dumped{}
		if err := d.Decode(o); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return 0, err
		}
		if o.Kind == "Node" {
			room[o.Metadata.Name] = map[string]float64{}
			for kind, q := range o.Status.Allocatable {
				room[o.Metadata.Name][kind] = number(q)
			}
		} else if o.Spec.NodeName != "" {
			pods[o.Metadata.Namespace+"/"+o.Metadata.Name] = o
			take(room[o.Spec.NodeName], o, 1)
		}
	}
	for i, m := range a.Moves {
		pod := pods[m.Pod]
		switch {
		case pod == nil || pod.Spec.NodeName != m.From || room[m.To] == nil || m.From == m.To:
			return i, fmt.Errorf("move %d: %s cannot move from %s to %s", i, m.Pod, m.From, m.To)
		case len(pod.Metadata.OwnerReferences) == 0 || pod.Metadata.OwnerReferences[0].Kind == "DaemonSet":
			return i, fmt.Errorf("move %d: %s may not move", i, m.Pod)
		}
		take(room[m.From], pod, -1)
		take(room[m.To], pod, 1)
		pod.Spec.NodeName = m.To
		for kind, left := range room[m.To] {
			if left < 0 {
				return i, fmt.Errorf("after move %d: %s is over its %s by %g", i, m.To, kind, -left)
			}
		}
	}
	for _, n := range a.Done {
		for name, pod := range pods {
			daemon := len(pod.Metadata.OwnerReferences) > 0 && pod.Metadata.OwnerReferences[0].Kind == "DaemonSet"
			if pod.Spec.NodeName == n.Node && !daemon && a.Goal != "level" {
				return len(a.Moves), fmt.Errorf("node %s is done, and holds %s", n.Node, name)
			}
		}
	}
	if len(a.Left) < a.Bound {
		return len(a.Moves), fmt.Errorf("%d nodes are left, fewer than the bound %d", len(a.Left), a.Bound)
	}
	return len(a.Moves), nil
}

// take takes the pod's requests of what is left, times so many.
func take(left map[string]float64, pod *dumped, times float64) {
	left["pods"] -= times
	for _, c := range pod.Spec.Containers {
		for kind, q := range c.Resources.Requests {
			left[kind] -= times * number(q)
		}
	}
}

// number reads a quantity, in thousandths.
func number(text string) float64 {
	factor := 1000.0
	for suffix, by := range map[string]float64{"m": 1, "Mi": 1000 << 20, "Gi": 1000 << 30} {
		if digits, is := strings.CutSuffix(text, suffix); is {
			text, factor = digits, by
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return v * factor
}
