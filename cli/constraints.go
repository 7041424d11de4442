package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/constraint"
	"fairlead.dev/fairlead/constraint/file"
	"fairlead.dev/fairlead/internal/document"
	"fairlead.dev/fairlead/setup"
	"fairlead.dev/fairlead/sim/trace"
)

// This file is the command constraints check: it says what the constraints of a file mean,
// what in them may be a mistake, and which of them contradict.

func newConstraints() *cobra.Command {
	c := &cobra.Command{
		Use:     "constraints",
		Short:   "Check placement constraints, and say what they mean",
		Example: "  fairlead constraints check constraints.txt",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newConstraintsCheck())
	return c
}

func newConstraintsCheck() *cobra.Command {
	var k constraintsCheck
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "Say in words what constraints mean, and find contradictions",
		Long: `Check prints each constraint of a file in its canonical form and in words, then
warnings, then contradictions, with both sides of each. The exit code is 1 if hard
constraints contradict each other. - is the standard input.

FILE has one constraint on each line, and # begins a comment:
  {storm, {hb & mem, 1, inf}, node}        beside each storm at least 1 hb with mem
  {hb, {hb, 0, 0}, node}: hard             no two hb on a node, ever
  {spark, {spark, 3, 10}, rack}: counted   3 to 10 spark in each rack that has any
  {*, {web, 2, 5}, zone}: 2.5              2 to 5 web in every zone; weight 2.5
Or FILE is YAML: a list of such texts, in quotes, and of maps. A bound counts other
containers, so that {spark, {spark, 3, 10}, rack} means 4 to 11 in all; with counted,
a container counts itself as well.

Where the cluster is known, an unknown group or tag is a warning that gives the
nearest known name: --cluster reads the groups of the nodes that a source has at the
start, or groups and tags from a file of fairlead place, which ends in .yaml, .yml or
.json; --tags names tags.

Where nodes and tasks come from, SRC, says 'fairlead help sources'.`,
		Example: `  fairlead constraints check constraints.txt
  fairlead constraints check constraints.yaml --cluster nodes.jsonl --tags hb,mem,storm
  fairlead constraints check constraints.txt --cluster shop.yaml
  echo '{spark, {spark, 3, 10}, rack}' | fairlead constraints check - -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			k.path = args[0]
			if err := k.check(); err != nil {
				return usage(c, err)
			}
			return k.run(c.InOrStdin(), c.OutOrStdout())
		},
	}
	f := c.Flags()
	f.StringVar(&k.cluster, "cluster", "", "`SRC` of the nodes whose groups are known, or a file of fairlead place")
	f.StringSliceVar(&k.tags, "tags", nil, "`TAGS` that containers have, with commas between them")
	f.StringVarP(&k.format, "output", "o", "text", "text or json")
	complete(c, "output", "text", "json")
	return c
}

// constraintsCheck is what the flags ask for, as they were typed.
type constraintsCheck struct {
	path, cluster, format string
	tags                  []string
	source                setup.URL
}

// check says what is wrong with each flag.
func (k *constraintsCheck) check() (err error) {
	var errs []error
	if k.format != "text" && k.format != "json" {
		errs = append(errs, fmt.Errorf("--output: %w", unknown("format", k.format, []string{"text", "json"})))
	}
	if k.cluster != "" && !k.placed() {
		if k.source, err = setup.ParseURL(setup.Guess(k.cluster)); err != nil {
			errs = append(errs, fmt.Errorf("--cluster: %w", err))
		}
	}
	return errors.Join(errs...)
}

func (k *constraintsCheck) run(stdin io.Reader, stdout io.Writer) error {
	input, err := openInput(k.path, stdin)
	if err != nil {
		return err
	}
	text, err := document.ReadAll(input)
	if err := errors.Join(err, input.Close()); err != nil {
		return fmt.Errorf("%s: %w", inputName(k.path), err)
	}
	read, err := file.Decode(inputName(k.path), text)
	if err != nil {
		return err
	}
	known := constraint.Knowledge{Tags: k.tags}
	switch {
	case k.placed():
		r, _, err := (&placing{paths: []string{k.cluster}}).read(stdin)
		if err != nil {
			return fmt.Errorf("--cluster: %w", err)
		}
		known = constraint.Known(&r.Problem)
		known.Tags = append(known.Tags, k.tags...)
	case k.cluster != "":
		if err := k.readGroups(&known); err != nil {
			return fmt.Errorf("--cluster %s: %w", k.cluster, err)
		}
	}
	checked := checkConstraints(read, known)
	if k.format == "json" {
		err = writeJSON(stdout, checked)
	} else {
		err = checked.print(stdout, inputName(k.path))
	}
	if n := checked.hard(); err == nil && n > 0 {
		return fmt.Errorf("%s: hard constraints contradict: %d", inputName(k.path), n)
	}
	return err
}

// placed reports whether the cluster is that of a file of fairlead place.
func (k *constraintsCheck) placed() bool {
	switch filepath.Ext(strings.TrimSuffix(k.cluster, ".gz")) {
	case ".yaml", ".yml", ".json":
		format, _, named := strings.Cut(k.cluster, ":")
		_, known := setup.FormatNamed(format)
		return !named || !known
	}
	return false
}

// readGroups adds the groups of the nodes that are there at the start.
func (k *constraintsCheck) readGroups(known *constraint.Knowledge) error {
	src, err := k.source.Open(1, false)
	if err != nil {
		return err
	}
	defer src.Close() //nolint:errcheck // it was only read
	return groupsOf(src, known)
}

// groupsOf adds the groups of the nodes that a source has at the start.
func groupsOf(src trace.Source, known *constraint.Knowledge) error {
	standing, err := setup.NodesAtStart(src)
	if err != nil {
		return err
	}
	nodes := map[string]int{}
	for _, n := range standing {
		for _, label := range n.Groups {
			nodes[label.Key]++
		}
	}
	known.Groups = []string{cluster.EachNode}
	for group, in := range nodes {
		known.Groups = append(known.Groups, group)
		if in == len(standing) {
			known.Covering = append(known.Covering, group)
		}
	}
	slices.Sort(known.Groups)
	slices.Sort(known.Covering)
	return nil
}

// checkedConstraints is what is printed.
type checkedConstraints struct {
	Constraints    []checkedConstraint    `json:"constraints"`
	Warnings       []constraintWarning    `json:"warnings"`
	Contradictions []checkedContradiction `json:"contradictions"`
}

type checkedConstraint struct {
	Line   int         `json:"line"`
	Name   string      `json:"name,omitempty"` // where it is not the text
	Owner  string      `json:"owner,omitempty"`
	Text   string      `json:"text"`
	Words  string      `json:"words"`
	Hard   bool        `json:"hard"`
	Weight json.Number `json:"weight,omitempty"`
	title  string
}

type constraintWarning struct {
	Line    int    `json:"line"`
	Message string `json:"message"`
}

type checkedContradiction struct {
	Hard    bool     `json:"hard"`
	Least   sideText `json:"least"` // asks for more than the other allows
	Most    sideText `json:"most"`
	Message string   `json:"message"`
}

type sideText struct {
	Line       int    `json:"line"`
	Constraint string `json:"constraint"`
	Bound      string `json:"bound"`
}

func checkConstraints(read *file.File, known constraint.Knowledge) *checkedConstraints {
	checked := checkedConstraints{Warnings: []constraintWarning{}, Contradictions: []checkedContradiction{}}
	for i := range read.Constraints {
		c := &read.Constraints[i]
		one := checkedConstraint{Line: read.Lines[i], Owner: c.Owner, Text: constraint.Format(c), Words: constraint.Explain(c), Hard: c.Hard, title: constraint.Title(c)}
		if c.Name != one.Text {
			one.Name = c.Name
		}
		if !c.Hard {
			one.Weight = json.Number(constraint.FormatWeight(c.Weight))
		}
		checked.Constraints = append(checked.Constraints, one)
	}
	for _, w := range constraint.Warnings(read.Constraints, known) {
		checked.Warnings = append(checked.Warnings, constraintWarning{read.Lines[w.Constraint], w.Sentence})
	}
	side := func(s constraint.Side) sideText {
		c := &read.Constraints[s.Constraint]
		return sideText{read.Lines[s.Constraint], c.Name, constraint.FormatBound(&c.Any[s.Alternative][s.Bound])}
	}
	for _, c := range constraint.Contradictions(read.Constraints, known) {
		checked.Contradictions = append(checked.Contradictions, checkedContradiction{c.Hard, side(c.Least), side(c.Most), c.Sentence})
	}
	return &checked
}

// hard is how many contradictions are between hard constraints.
func (k *checkedConstraints) hard() (n int) {
	for i := range k.Contradictions {
		if k.Contradictions[i].Hard {
			n++
		}
	}
	return n
}

// print writes it as text; the file has that name.
func (k *checkedConstraints) print(out io.Writer, name string) error {
	var b strings.Builder
	for i := range k.Constraints {
		fmt.Fprintf(&b, "%d. %s\n   %s\n", i+1, k.Constraints[i].title, k.Constraints[i].Words)
	}
	if len(k.Warnings)+len(k.Contradictions) > 0 {
		b.WriteString("\n")
	}
	for _, w := range k.Warnings {
		fmt.Fprintf(&b, "%s:%d: warning: %s\n", name, w.Line, w.Message)
	}
	for i := range k.Contradictions {
		c := &k.Contradictions[i]
		kind := "warning"
		if c.Hard {
			kind = "error"
		}
		fmt.Fprintf(&b, "%s:%d: %s: %s", name, c.Least.Line, kind, c.Message)
		if c.Most.Line != c.Least.Line {
			fmt.Fprintf(&b, " (the second is on line %d)", c.Most.Line)
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}
