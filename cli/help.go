package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/setup"
)

// This file is the help: commands in groups, and what several commands share in a place of its own.

// topic is a text that 'fairlead help NAME' prints.
type topic struct{ name, short, text string }

// topics are those that there are.
func topics() []topic {
	return []topic{
		{"sources", "where nodes and tasks come from: what SRC stands for", setup.URLHelp()},
		{"columns", "what the columns of results mean", columnsHelp},
	}
}

// columnsHelp says what stands above the numbers of results.
const columnsHelp = `A table of results has a line for each run. Its columns, from the left:

  PLACED       tasks that ran at some time, those that ran when the source began among them
  FINISHED     tasks that ended by themselves
  PENDING      tasks that wait at the end
  PREEMPTED    evictions for the sake of others; who moves counts under TASKS MOVED instead
  UNPLACEABLE  of the pending, those that no node would take even if it were empty
  LATENCY      from when a task comes to its first run: half of them took at most the first
               number, 99 of 100 at most the second
  TASK RESPONSE  from when a task comes to its end
  CPU ALLOC    the share of all cores that tasks held, in the mean over time: what they ask for,
               not what they use; so with every kind
  NODES ACTIVE nodes with at least one task at the end, beside those that belong to their node as
               the pods of a DaemonSet do
  DECISIONS PER S  placements and evictions in a second of real planning time on this machine
  AVAILABLE    the share of its time, from when it came, that a task ran
  KEPT         the share of tasks that ran as much as their class was promised
  DEFICIT      by how much the others missed that
  OVERHEAD     the share of time that runs took to start, once more for each time that a task was
               evicted
  PENALTIES    what users get back for promises that were not kept
  NODES GAINED by how much more the room that is left is worth for what moved, as its policy sees it:
               1 is all room of a node; below 0 where others made room for somebody
  VIOLATIONS MENDED  tasks fewer that violate a constraint for what moved
  SERVED BY MOVES  tasks out of whose way others moved

docs/result.md has every number of a result.
`

// group puts the commands into groups.
func group(root *cobra.Command) {
	groups := []struct {
		id, title string
		commands  []string
	}{
		{"own", "Your own cluster:", []string{"advise", "plan", "capacity", "explain"}},
		{"compare", "Compare schedulers:", []string{"simulate", "sweep", "report", "compare", "experiment", "policies", "classes"}},
		{"place", "Place and solve:", []string{"place", "constraints", "solve"}},
		{"data", "Data:", []string{"trace"}},
	}
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, name := range g.commands {
			for _, c := range root.Commands() {
				if c.Name() == name {
					c.GroupID = g.id
				}
			}
		}
	}
}

// newHelp is the command help: of a command, or a topic. What is neither is an error.
func newHelp(root *cobra.Command) *cobra.Command {
	var long strings.Builder
	long.WriteString("Help prints how to use a command, or one of these topics:\n")
	for _, t := range topics() {
		fmt.Fprintf(&long, "\n  %-9s %s", t.name, t.short)
	}
	return &cobra.Command{
		Use:     "help [command or topic]",
		Short:   "Help about a command, or about sources and columns",
		Long:    long.String(),
		Example: "  fairlead help simulate\n  fairlead help sources",
		Args:    cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			for _, t := range topics() {
				if len(args) == 1 && args[0] == t.name {
					_, err := fmt.Fprintln(c.OutOrStdout(), t.text)
					return err
				}
			}
			found, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return usage(c, unknownCommand(root, args[len(args)-1]))
			}
			return found.Help()
		},
	}
}
