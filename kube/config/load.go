package config

import (
	"errors"
	"fmt"
	"os"

	kyaml "sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/internal/document"
	"fairlead.dev/fairlead/policies"
)

// Load reads a configuration file and fills in what it leaves out. A field
// that is unknown, given twice or of the wrong type is an error. The values
// are not judged yet, because flags may change them: see Validate. Profiles may name the
// policies of Fairlead, and the others.
func Load(path string, others ...policies.Info) (*SchedulerConfiguration, error) {
	data, err := document.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the configuration: %w", err)
	}
	return Parse(path, data, others...)
}

// Parse is Load for a file that has been read; errors call it by the name.
func Parse(name string, data []byte, others ...policies.Info) (*SchedulerConfiguration, error) {
	reader, top, err := document.Open(name, data)
	if errors.Is(err, document.ErrEmpty) {
		return nil, fmt.Errorf("%w; --write-config-to writes one to start from", err)
	}
	if err != nil {
		return nil, err
	}
	upstream, err := identify(name, data)
	if err != nil {
		return nil, err
	}
	known := append(policies.All(), others...)
	old := inspect(reader, top, known.Options(), upstream)
	if err := reader.Err(); err != nil {
		return nil, err
	}
	c := blank()
	if upstream {
		c.standIn()
	}
	if err := kyaml.UnmarshalStrict(data, c); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c.Old = old
	if upstream {
		c.adopt()
	}
	c.complete(known)
	return c, nil
}

// identify refuses files of another kind or version before their fields are
// looked at, each of which would be one more complaint that misses the point. Upstream says that the
// file is kube-scheduler's.
func identify(name string, data []byte) (upstream bool, err error) {
	var is struct {
		APIVersion any `json:"apiVersion"`
		Kind       any `json:"kind"`
	}
	if err := kyaml.Unmarshal(data, &is); err != nil {
		return false, fmt.Errorf("%s: not a configuration: %w", name, err)
	}
	if is.APIVersion == APIVersion && is.Kind == Kind {
		return false, nil
	}
	if is.APIVersion == upstreamAPIVersion && is.Kind == upstreamKind {
		return true, nil
	}
	hint := "--write-config-to writes a file to start from"
	if is.Kind == upstreamKind {
		hint = "of kube-scheduler's own, " + upstreamAPIVersion + " is read"
	}
	return false, fmt.Errorf("%s: expected apiVersion %s and kind %s, found apiVersion %s and kind %s; %s",
		name, APIVersion, Kind, orNone(is.APIVersion), orNone(is.Kind), hint)
}

func orNone(value any) string {
	if value == nil {
		return "(none)"
	}
	return fmt.Sprint(value)
}

// Write writes the configuration to a file that Load reads back as the same.
func (c *SchedulerConfiguration) Write(path string) error {
	data, err := kyaml.Marshal(c)
	if err != nil {
		return fmt.Errorf("cannot write the configuration as YAML: %w", err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return fmt.Errorf("cannot write the configuration: %w", err)
	}
	return nil
}
