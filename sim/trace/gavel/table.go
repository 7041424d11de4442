package gavel

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/gpujobs"
)

// This file is the table of throughputs, and what is made of it: how much faster a type of job is on one kind of GPU than on another.

// Setup is a type of job and how many GPUs it has.
type Setup struct {
	Type string
	GPUs int64
}

// Table is how many steps a second jobs take that have their GPUs to themselves, by kind of GPU. Where a type does not run, it has none.
type Table map[string]map[Setup]float64

// mostTable bounds the file of throughputs; the authors' has 1.2 MB.
const mostTable = 1 << 25

// ReadTable reads the throughputs with GPUs of these kinds.
func ReadTable(file string, kinds ...string) (Table, error) {
	if file == "" {
		return nil, errors.New("a trace of Gavel says how many steps a job takes, and not how long: name a table of throughputs, such as its simulation_throughputs.json, as table=FILE")
	}
	f, name, err := trace.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	wrong := func(want string, err error) error { return &trace.Error{File: name, Want: want, Err: err} }
	text, err := io.ReadAll(io.LimitReader(f, mostTable+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case len(text) > mostTable:
		return nil, wrong(fmt.Sprintf("a table of throughputs of at most %d bytes", mostTable), nil)
	}
	var all map[string]map[string]struct {
		Null *float64 `json:"null"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, wrong(`a table of throughputs, {"v100": {"('A3C', 1)": {"null": 8.5}}}`, err)
	}
	table := Table{}
	for _, kind := range kinds {
		of, known := all[kind]
		if !known {
			return nil, wrong(fmt.Sprintf("throughputs of GPUs %s; there are %s", kind, strings.Join(slices.Sorted(maps.Keys(all)), ", ")), nil)
		}
		table[kind] = map[Setup]float64{}
		for _, key := range slices.Sorted(maps.Keys(of)) {
			setup, is := parseSetup(key)
			speed := of[key].Null
			switch {
			case !is:
				return nil, wrong(fmt.Sprintf("a type of job and a number of GPUs such as ('A3C', 1), and not %s", key), nil)
			case speed == nil || !(*speed >= 0):
				return nil, wrong(fmt.Sprintf("a number of steps a second for %s under null", key), nil)
			case *speed > 0:
				table[kind][setup] = *speed
			}
		}
	}
	return table, nil
}

// parseSetup reads ('ResNet-50 (batch size 64)', 1).
func parseSetup(key string) (of Setup, is bool) {
	inside, is := strings.CutPrefix(key, "('")
	at := strings.LastIndex(inside, "', ")
	if !is || at < 0 {
		return of, false
	}
	digits, closed := strings.CutSuffix(inside[at+len("', "):], ")")
	gpus, err := strconv.ParseInt(digits, 10, 64)
	return Setup{inside[:at], gpus}, closed && err == nil && gpus > 0
}

// Types are the types of jobs that run on so many GPUs of the kind, in order.
func (t Table) Types(kind string, gpus int64) (types []string) {
	for of := range t[kind] {
		if of.GPUs == gpus {
			types = append(types, of.Type)
		}
	}
	slices.Sort(types)
	return types
}

// Measured is the setup, or else its type on one GPU, where that is all that was measured of it.
func (t Table) Measured(of Setup) (as Setup, known bool) {
	for _, as := range []Setup{of, {of.Type, 1}} {
		for _, kind := range t {
			if kind[as] > 0 {
				return as, true
			}
		}
	}
	return of, false
}

// Pace is how fast a job is on each of some kinds of GPU.
type Pace struct {
	PerSecond float64       // steps, on the first of the kinds on which it runs
	Speeds    []trace.Speed // against that, by the label of the model
	Model     string        // those on which it runs, for gpujobs.Pods
}

// Pace says how fast a job is. It runs on none of the kinds where PerSecond is 0.
func (t Table) Pace(of Setup, kinds []string) (p Pace) {
	var models []string
	for _, kind := range kinds {
		speed := t[kind][of]
		if speed == 0 {
			continue
		}
		p.PerSecond = cmp.Or(p.PerSecond, speed)
		rate := math.Round(speed / p.PerSecond * trace.SpeedUnit)
		p.Speeds = append(p.Speeds, trace.Speed{On: cluster.Label{Key: gpujobs.ModelLabel, Value: kind}, Rate: int64(min(max(rate, 1), trace.MostSpeed))})
		models = append(models, kind)
	}
	if len(models) < len(kinds) {
		p.Model = strings.Join(models, "|")
	}
	return p
}
