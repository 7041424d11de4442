package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/queue"
)

func newPolicies() *cobra.Command {
	return &cobra.Command{
		Use:     "policies",
		Short:   "List the policies: name, what it does, where it comes from",
		Example: "  fairlead policies",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tWHAT IT DOES\tFROM")
			for _, p := range queue.Policies() {
				fmt.Fprintf(w, "%s\t%s\t%s\n", p.Name, p.What, p.From)
			}
			return w.Flush()
		},
	}
}

// checkPolicy returns an error that suggests the nearest name unless there is
// a policy of that name.
func checkPolicy(name string) error {
	var names []string
	for _, p := range queue.Policies() {
		if p.Name == name {
			return nil
		}
		names = append(names, p.Name)
	}
	return unknown("policy", name, names)
}

// unknown says that there is no such name, and which ones are near it.
func unknown(what, name string, names []string) error {
	var near []string
	for _, n := range names {
		if d := distance(strings.ToLower(name), n); d <= 2 && d < len(n) || name != "" && strings.HasPrefix(n, strings.ToLower(name)) {
			near = append(near, n)
		}
	}
	if len(near) > 0 {
		return fmt.Errorf("unknown %s %q; did you mean %s?", what, name, strings.Join(near, " or "))
	}
	return fmt.Errorf("unknown %s %q; there are %s", what, name, strings.Join(names, ", "))
}

// distance is how many letters must be changed, added or taken away to turn a
// into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
