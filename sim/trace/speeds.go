package trace

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cluster"
)

// This file is tasks that work faster on some nodes than on others, such as training on GPUs of several models.

// SpeedUnit is the speed with which a task works for as long as its Work says.
const SpeedUnit = 1_000_000

// Bounds of what may be said of a task: how fast it is at most, and on how many kinds of nodes.
const (
	MostSpeed  = 1000 * SpeedUnit
	MostSpeeds = 64
)

// Speed is how fast a task works on nodes with a label: with twice SpeedUnit it is done in half of its Work.
type Speed struct {
	On   cluster.Label
	Rate int64 // from 1 to MostSpeed
}

// CheckSpeeds says what is wrong with the speeds of a task. They are of one key, as of two a node could have both.
func CheckSpeeds(speeds []Speed) error {
	if len(speeds) > MostSpeeds {
		return fmt.Errorf("%d speeds, want at most %d", len(speeds), MostSpeeds)
	}
	for i, s := range speeds {
		switch {
		case s.On.Key == "" || s.On.Key != speeds[0].On.Key:
			return errors.New("speeds on nodes with different labels, want one key")
		case s.On.Value == "" || strings.Contains(s.On.Value, "|"):
			return fmt.Errorf("a speed on nodes with %s=%s, want a value without |", s.On.Key, s.On.Value)
		case s.Rate < 1 || s.Rate > MostSpeed:
			return fmt.Errorf("the speed %d with %s=%s, want 1 to %d", s.Rate, s.On.Key, s.On.Value, MostSpeed)
		}
		for _, other := range speeds[:i] {
			if other.On == s.On {
				return fmt.Errorf("two speeds with %s=%s", s.On.Key, s.On.Value)
			}
		}
	}
	return nil
}

// SpeedOn is how fast a task with such speeds works on a node with the labels: SpeedUnit where none of them is the node's.
func SpeedOn(speeds []Speed, labels []cluster.Label) int64 {
	for _, s := range speeds {
		if slices.Contains(labels, s.On) {
			return s.Rate
		}
	}
	return SpeedUnit
}

// FastFirst is the preferences of a task that would rather be where it is faster: each kind of nodes weighs as much of the largest
// weight as its speed is of the fastest. A policy that honours preferences goes by speeds then, and needs to know nothing of them.
func FastFirst(speeds []Speed) []Preference {
	fastest, slowest := int64(SpeedUnit), int64(SpeedUnit)
	values := make([]string, len(speeds))
	for i, s := range speeds {
		fastest, slowest, values[i] = max(fastest, s.Rate), min(slowest, s.Rate), s.On.Value
	}
	if fastest == slowest {
		return nil
	}
	weight := func(rate int64) int32 {
		return int32(max((cluster.MostPreference*rate+fastest/2)/fastest, 1))
	}
	others := cluster.Requirement{Key: speeds[0].On.Key, Op: cluster.NotEqual, Value: strings.Join(values, "|")}
	all := []Preference{{Requirements: []cluster.Requirement{others}, Weight: weight(SpeedUnit)}}
	for _, s := range speeds {
		all = append(all, Preference{Requirements: []cluster.Requirement{{Key: s.On.Key, Op: cluster.Equal, Value: s.On.Value}}, Weight: weight(s.Rate)})
	}
	return all
}
