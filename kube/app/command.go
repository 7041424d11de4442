package app

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // makes --logging-format=json known
	"k8s.io/component-base/term"

	"fairlead.dev/fairlead/policies"
)

const description = `Fairlead places the pods of a Kubernetes cluster: those whose
spec.schedulerName is the name of one of its profiles, by default "fairlead".
Pods of other schedulers count as used capacity and are left alone, unless a
profile "default-scheduler" allows evictions: then they may leave for its pods.

What it does is said in one configuration file; a flag changes what the file
says. Several replicas agree on one leader; the others stand by. SIGTERM stops
gracefully: binds under way are waited for, then the next replica takes over.

Logs go to stderr. Exit codes: 0 stopped by a signal, 1 something went wrong
or the lease was lost, 2 the command line or the configuration is wrong.`

const examples = `  # Inside the cluster, with the service account of its pod:
  fairlead-scheduler --config /etc/fairlead/config.yaml

  # On a development machine, alone, with a recording to replay later:
  fairlead-scheduler --kubeconfig ~/.kube/config --leader-elect=false --record recording

  # Write the default configuration, to start from:
  fairlead-scheduler --write-config-to config.yaml`

// newCommand makes the command; its scheduler is made by the given function, and may have policies
// besides Fairlead's own.
func newCommand(makeScheduler schedulerMaker, own ...policies.Info) *cobra.Command {
	o := newOptions()
	o.policies = own
	command := &cobra.Command{
		Use:           "fairlead-scheduler [flags]",
		Short:         "Place the pods of a Kubernetes cluster",
		Long:          description,
		Example:       examples,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(c *cobra.Command, args []string) error {
			if err := cobra.NoArgs(c, args); err != nil {
				return usageError{fmt.Errorf("unexpected argument %q; everything is given by flags", args[0])}
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if err := logsapi.ValidateAndApply(o.logs, nil); err != nil {
				return usageError{err}
			}
			if err := o.setGates(); err != nil {
				return usageError{err}
			}
			o.given = c.Flags().Changed
			cfg, err := o.configuration()
			if err != nil {
				return usageError{err}
			}
			if o.writeConfigTo != "" {
				return cfg.Write(o.writeConfigTo)
			}
			return o.run(c.Context(), cfg, makeScheduler)
		},
	}
	command.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	command.SetVersionTemplate("fairlead-scheduler {{.Version}}\n")
	sections := o.flags()
	for _, name := range sections.Order {
		command.Flags().AddFlagSet(sections.FlagSets[name])
	}
	command.SetHelpFunc(func(c *cobra.Command, _ []string) {
		width, _, _ := term.TerminalSize(c.OutOrStdout()) // zero, which is unlimited, if this is no terminal
		fmt.Fprintf(c.OutOrStdout(), "%s\n\nUsage:\n  %s\n\nExamples:\n%s\n", c.Long, c.UseLine(), c.Example)
		cliflag.PrintSections(c.OutOrStdout(), sections, width)
	})
	return command
}

// version is what this was built from: its own version and that of the
// Kubernetes whose filters it runs.
func version() string {
	is := []string{"development"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return is[0]
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		is[0] = v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			is = append(is, s.Value)
		}
	}
	for _, d := range info.Deps {
		if d.Path == "k8s.io/kubernetes" || d.Path == "k8s.io/client-go" {
			is = append(is, d.Path+"@"+d.Version)
		}
	}
	return strings.Join(append(is, info.GoVersion), " ")
}
