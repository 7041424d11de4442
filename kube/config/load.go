package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/yaml"
)

// Load reads a configuration file and fills in what it leaves out. A field
// that is unknown, given twice or of the wrong type is an error. The values
// are not judged yet, because flags may change them: see Validate.
func Load(path string) (*SchedulerConfiguration, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the configuration: %w", err)
	}
	return Parse(path, data)
}

// Parse is Load for a file that has been read; errors call it by the name.
func Parse(name string, data []byte) (*SchedulerConfiguration, error) {
	document, err := onlyDocument(name, data)
	if err != nil {
		return nil, err
	}
	if err := identify(name, data); err != nil {
		return nil, err
	}
	if err := inspect(name, document); err != nil {
		return nil, err
	}
	c := blank()
	if err := kyaml.UnmarshalStrict(data, c); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c.complete()
	return c, nil
}

// onlyDocument returns the one YAML document of a file. The decoder would read
// the first and be silent about the rest.
func onlyDocument(name string, data []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	err := decoder.Decode(&document)
	switch {
	case errors.Is(err, io.EOF), err == nil && isNull(document.Content[0]):
		return nil, fmt.Errorf("%s: the file says nothing; --write-config-to writes one to start from", name)
	case err != nil:
		return nil, fmt.Errorf("%s: not YAML: %w", name, err)
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: there is more than one YAML document; keep one and remove the line ---", name)
	}
	return document.Content[0], nil
}

// identify refuses files of another kind or version before their fields are
// looked at, each of which would be one more complaint that misses the point.
func identify(name string, data []byte) error {
	var is struct {
		APIVersion any `json:"apiVersion"`
		Kind       any `json:"kind"`
	}
	if err := kyaml.Unmarshal(data, &is); err != nil {
		return fmt.Errorf("%s: not a configuration: %w", name, err)
	}
	if is.APIVersion == APIVersion && is.Kind == Kind {
		return nil
	}
	hint := "--write-config-to writes a file to start from"
	if is.Kind == "KubeSchedulerConfiguration" {
		hint = "this one is kube-scheduler's, whose plugins and extenders have no counterpart here; " + hint
	}
	return fmt.Errorf("%s: expected apiVersion %s and kind %s, found apiVersion %s and kind %s; %s",
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
