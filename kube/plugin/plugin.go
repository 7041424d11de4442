// Package plugin is kubectl fairlead: the commands of fairlead about the cluster that kubectl talks to, with kubectl's flags, and what
// only a live cluster can say. It lists that cluster with the caller's own rights, which only reads, and hands the list to the same code that
// reads a file: what he may not list he is not told (docs/adr/0015).
package plugin

import (
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"fairlead.dev/fairlead/cli"
)

// Main runs the words of a command line and returns its exit code.
func Main(words []string, streams genericiooptions.IOStreams) int {
	root := newRoot(streams)
	root.SetArgs(words)
	return cli.Execute(root, streams.ErrOut)
}

const (
	program = "kubectl fairlead"
	long    = `Fairlead is a container scheduler that decides for the whole cluster at once,
keeps the promises made to each workload, and says why.

These are the commands of fairlead. Those about a cluster are about the one that kubectl
talks to, unless --cluster names a dump of one; they list it with your own rights, decide
on your machine, and change nothing. Exit codes: 0 means done, 1 that something went wrong,
2 that the command line cannot be understood, 3 that 'plan' would change something, 130
that Ctrl-C interrupted the command.`
	examples = `  kubectl fairlead explain web-0 -n shop
  kubectl fairlead promises -A
  kubectl fairlead plan -f app.yaml --drain node-7
  kubectl fairlead advise`
)

// newRoot is the command fairlead with kubectl's flags. Those of its commands that take a cluster are given the live one.
func newRoot(streams genericiooptions.IOStreams) *cobra.Command {
	root := cli.Command()
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.Use, root.Long, root.Example = "kubectl-fairlead", long, examples
	root.Short = "Say why pods wait, what is promised to whom, and what would change"
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: program}
	called(root)
	a := newAccess(root.PersistentFlags())
	for _, c := range root.Commands() {
		switch c.Name() {
		case "explain":
			a.explains(c)
		case "plan":
			a.plans(c)
		case "advise", "simulate":
			a.lists(c)
		case "constraints":
			for _, sub := range c.Commands() {
				a.checks(sub)
			}
		case "capacity":
			for _, sub := range c.Commands() {
				a.lists(sub)
			}
		}
	}
	for _, c := range []*cobra.Command{newPromises(a), newDiff(a)} {
		c.GroupID = "own"
		root.AddCommand(c)
	}
	return root
}

// called has help and examples call the commands as they are called here, and leaves out that they read a file.
func called(c *cobra.Command) {
	words := strings.NewReplacer("  fairlead ", "  "+program+" ", "'fairlead ", "'"+program+" ", " --cluster kubernetes:me.json", "", " --cluster me.json", "")
	for _, sub := range c.Commands() {
		sub.Example, sub.Long = words.Replace(sub.Example), words.Replace(sub.Long)
		called(sub)
	}
}

// atMostOne refuses a second word.
func atMostOne(c *cobra.Command, args []string) error {
	if err := cobra.MaximumNArgs(1)(c, args); err != nil {
		return cli.Usage(c, err)
	}
	return nil
}
