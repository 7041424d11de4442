package config

import (
	"encoding/json"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kyaml "sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/internal/document"
)

// This file is the table of classes in the configuration: the name of a preset, a file,
// or the table itself, as in the files of 'fairlead simulate --classes'.

// Classes is what is promised to whom.
type Classes struct { //nolint:recvcheck // a copy is written too, and reading changes it
	// Name is a preset or a file; empty where the table stands in the configuration, or
	// there is none.
	Name string
	// Table is nil if nothing is promised to anybody.
	Table *class.Table
}

// MarshalJSON writes the name, or else the table.
func (c Classes) MarshalJSON() ([]byte, error) {
	if c.Name != "" || c.Table == nil {
		return json.Marshal(c.Name)
	}
	return kyaml.YAMLToJSON(c.Table.Encode())
}

// UnmarshalJSON reads what MarshalJSON writes. What is wrong with a table inspect says
// better, and first.
func (c *Classes) UnmarshalJSON(text []byte) error {
	var err error
	*c = Classes{}
	switch {
	case json.Unmarshal(text, &c.Name) != nil:
		c.Table, err = class.Decode("classes", text)
	case c.Name != "":
		c.Table, err = class.Load(c.Name)
	}
	return err
}

// classes inspects the table, which may stand here or elsewhere.
func (i inspection) classes(v document.Value) {
	if v.Node.Kind != yaml.ScalarNode {
		class.Read(i.Reader, v)
		return
	}
	if v.Node.Value == "" {
		return
	}
	if _, err := class.Load(v.Node.Value); err != nil {
		i.Complain(v, "%v", err)
	}
}

// validate refuses what this scheduler cannot keep: how large a pod is and how many there
// are, its owner says, and nodes of Kubernetes have no tiers.
func (c *Classes) validate(path *field.Path) field.ErrorList {
	if c.Table == nil {
		return nil
	}
	var errs field.ErrorList
	for n := range c.Table.Classes {
		row, at := &c.Table.Classes[n], path.Child("classes").Index(n)
		if row.Tier > 0 {
			errs = append(errs, field.Invalid(at.Child("tier"), class.TierName(row.Tier), "nodes of Kubernetes have no tiers here; use a node selector, and remove the line"))
		}
		if row.Size > 0 {
			errs = append(errs, field.Invalid(at.Child("size"), class.Levels()[row.Size-1], "how large a pod is, it says itself; remove the line"))
		}
		if row.Replicas > 1 {
			errs = append(errs, field.Invalid(at.Child("replicas"), row.Replicas, "how many pods there are, their owner says; remove the line"))
		}
	}
	return errs
}
