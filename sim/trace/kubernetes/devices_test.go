package kubernetes

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/sim/trace"
)

const gpusAndNICs = `
kind: Node
metadata: {name: n1}
status: {capacity: {nvidia.com/gpu: %d, example.com/nic: %d, example.com/tape: 3}}
---
kind: Pod
metadata: {name: p, namespace: web}
spec: {containers: [{resources: {requests: {nvidia.com/gpu: 2, example.com/nic: 1}}}]}
`

// TestDevices names which resources come in devices: GPUs beside network cards. What a node may have
// of each is shared among them, and what is more stays a number, which is said of what was named.
func TestDevices(t *testing.T) {
	for _, tc := range []struct {
		gpus, nics int
		named      []string
		devices    []string
		note       string
	}{
		{8, 4, nil, []string{"nvidia.com/gpu"}, ""},
		{8, 4, []string{}, nil, ""},
		{8, 4, []string{"example.com/nic"}, []string{"example.com/nic"}, ""},
		{32, 32, []string{"nvidia.com/gpu", "example.com/nic"}, []string{"nvidia.com/gpu", "example.com/nic"}, ""},
		{32, 32, []string{"example.com/nic", "nvidia.com/gpu"}, []string{"example.com/nic", "nvidia.com/gpu"}, ""},
		{33, 64, []string{"nvidia.com/gpu", "example.com/nic"}, []string{"nvidia.com/gpu"}, "example.com/nic is a number, as there are up to 64 of it in one place"},
		{33, 4, []string{"nvidia.com/gpu", "example.com/nic"}, []string{"example.com/nic"}, "nvidia.com/gpu is a number, as there are up to 33"},
		{8, 4, []string{"nvidia.com/gpu", "example.com/nik"}, []string{"nvidia.com/gpu"}, "no node offers example.com/nik, and no pod asks for it"},
	} {
		_, s, err := read(t, write(t, "cluster.yaml", fmt.Sprintf(gpusAndNICs, tc.gpus, tc.nics)), Options{Devices: tc.named})
		if err != nil {
			t.Fatal(err)
		}
		var devices []string
		for _, k := range s.kinds {
			if k.Devices {
				devices = append(devices, k.Name)
			}
		}
		if notes := strings.Join(s.Notes(), "\n"); !slices.Equal(devices, tc.devices) || !strings.HasPrefix(notes, tc.note) || (notes == "") != (tc.note == "") {
			t.Errorf("%d GPUs and %d cards, %q in devices: %q are, noted %q", tc.gpus, tc.nics, tc.named, devices, notes)
		}
	}
}

// TestWriteDevices writes GPUs and network cards under their own names, and reads them back.
func TestWriteDevices(t *testing.T) {
	o := Options{Devices: []string{"nvidia.com/gpu", "example.com/nic"}}
	path := write(t, "cluster.yaml", fmt.Sprintf(gpusAndNICs, 8, 4))
	all, s, err := read(t, path, o)
	if err != nil {
		t.Fatal(err)
	}
	want := picture(s, all)
	from, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Write(&out, from, func(_ *trace.Record, what string) error { return errors.New(what) }); err != nil {
		t.Fatal(err)
	}
	if all, s, err = read(t, write(t, "written.json", out.String()), o); err != nil {
		t.Fatal(err)
	}
	if got := picture(s, all); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestDeviceNames(t *testing.T) {
	many := make([]string, 65)
	for i := range many {
		many[i] = fmt.Sprintf("a.com/%d", i)
	}
	for _, tc := range []struct {
		named []string
		want  string
	}{
		{[]string{"cpu"}, "is no extended resource"},
		{[]string{"a.com/x", "a.com/x"}, "named twice"},
		{[]string{"a.com/"}, "is no extended resource"},
		{[]string{""}, "is no extended resource"},
		{many, "65 names, want at most 64"},
	} {
		if err := (Options{Devices: tc.named}).Validate(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.3q: %v, want %q", tc.named, err, tc.want)
		}
	}
	if err := (Options{Devices: many[:64]}).Validate(); err != nil {
		t.Error(err)
	}
}
