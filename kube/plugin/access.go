package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"fairlead.dev/fairlead/cli"
	"fairlead.dev/fairlead/kube/dump"
)

// This file is how to come to the cluster, and as whom: by kubectl's flags. Whatever is asked is asked with the caller's own rights.

// How fast the cluster is listed: as kubectl does.
const (
	queriesPerSecond = 50
	burst            = 300
)

// access is the cluster that kubectl's flags name.
type access struct {
	flags *genericclioptions.ConfigFlags
}

// newAccess registers kubectl's flags, but for --cluster: that is the dump of a cluster here, as in all commands of fairlead.
func newAccess(to *pflag.FlagSet) *access {
	flags := genericclioptions.NewConfigFlags(true)
	flags.ClusterName, flags.CacheDir = nil, nil
	flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		config.QPS, config.Burst = queriesPerSecond, burst
		return config
	}
	flags.AddFlags(to)
	return &access{flags}
}

// client is one for all types of objects.
func (a *access) client() (dynamic.Interface, error) {
	config, err := a.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	return dynamic.NewForConfig(config)
}

// namespace is the one that the flags name, or else the context.
func (a *access) namespace() (string, error) {
	name, _, err := a.flags.ToRawKubeConfigLoader().Namespace()
	return name, err
}

// interruptible ends with the command, or when it is interrupted.
func interruptible() (context.Context, func()) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

// namesSource reports whether the flags name what is asked about, so that it is not the live cluster.
func namesSource(c *cobra.Command) bool {
	for _, name := range []string{"cluster", "workload", "spec"} {
		if c.Flags().Changed(name) {
			return true
		}
	}
	return false
}

// lists has a command of fairlead be about the live cluster unless its flags name another.
func (a *access) lists(c *cobra.Command) {
	run := c.RunE
	if flag := c.Flags().Lookup("cluster"); flag != nil {
		flag.Usage = "`SRC` of nodes and pods (default: the cluster that kubectl talks to, listed with your rights)"
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if namesSource(c) || c.Flags().Lookup("cluster") == nil {
			return run(c, args)
		}
		client, err := a.client()
		if err != nil {
			return err
		}
		ctx, stop := interruptible()
		defer stop()
		lacking, err := dump.Unlistable(ctx, client)
		if err != nil {
			return err
		}
		if len(lacking) > 0 {
			return lackingError{strings.TrimPrefix(c.CommandPath(), program+" "), lacking}
		}
		return onList(ctx, c, client, func() error {
			stop() // the command listens itself
			return run(c, args)
		})
	}
}

// lackingError says which rights the caller lacks for a command that is about the whole cluster.
type lackingError struct {
	command string
	lacking []string
}

// Error says what to do, too.
func (e lackingError) Error() string {
	hint := ""
	if e.command == "explain" {
		hint = "; of a pod of yours 'explain POD' says what is written on it"
	}
	return fmt.Sprintf("%s is about the whole cluster, and you may not list %s; the cluster role fairlead-reader is for who is to%s", e.command, strings.Join(e.lacking, ", nor "), hint)
}

// onList lists the cluster into a file, and runs the command on that.
func onList(ctx context.Context, c *cobra.Command, client dynamic.Interface, run func() error) error {
	promises, table, err := promised(ctx, c, client)
	if table != "" {
		defer os.Remove(table) //nolint:errcheck // it is in the folder of temporary files
	}
	if err != nil {
		return err
	}
	placed, notes, err := readStanding(ctx, client)
	for _, note := range notes {
		fmt.Fprintf(c.ErrOrStderr(), "%s: %s\n", program, note)
	}
	if err != nil {
		return err
	}
	file, err := list(ctx, client, newMarker(promises, placed), c.ErrOrStderr())
	if file != "" {
		defer os.Remove(file) //nolint:errcheck // it is in the folder of temporary files
	}
	if err != nil {
		if ctx.Err() != nil {
			err = cli.Interrupted()
		}
		return err
	}
	if err := c.Flags().Set("cluster", "kubernetes:"+file); err != nil {
		return err
	}
	return run()
}

// list lists the cluster into a file, and says what it left out.
func list(ctx context.Context, client dynamic.Interface, marks *marker, stderr io.Writer) (file string, err error) {
	to, err := os.CreateTemp("", "fairlead-*.json")
	if err != nil {
		return "", err
	}
	notes, err := dump.Write(ctx, client, to, dump.Extra{Each: marks.mark, Objects: marks.standing.objects()})
	for _, note := range notes {
		fmt.Fprintf(stderr, "%s: %s\n", program, note)
	}
	return to.Name(), errors.Join(err, to.Close())
}
