package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
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
	rack  string // the label of nodes that names their rack, as --rack-label has it
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
	return &access{flags: flags}
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

// interruptible does something with the cluster until Ctrl-C ends it. What fails from then on fails because of that, whatever it says, so that the exit code is that of an interrupted command.
func interruptible(do func(context.Context) error) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second one kills
	err := do(ctx)
	if err != nil && ctx.Err() != nil {
		return cli.Interrupted()
	}
	return err
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

// asksForRacks has a command take the label that the configuration of fairlead-scheduler calls rackLabel, which who has no right to read that has to say.
func (a *access) asksForRacks(c *cobra.Command) {
	c.Flags().StringVar(&a.rack, "rack-label", "", "the `LABEL` of nodes that names their rack, which is rackLabel in the configuration of fairlead-scheduler")
}

// checkRack refuses what is no label, and any where it is not the live cluster which is asked about.
func (a *access) checkRack(c *cobra.Command, live bool) error {
	if a.rack == "" {
		return nil
	}
	if !live {
		return cli.Usage(c, errors.New("--rack-label: counts for the cluster that kubectl talks to alone; leave it out beside --cluster, --workload, --spec and --tags"))
	}
	if problems := validation.IsQualifiedName(a.rack); len(problems) > 0 {
		return cli.Usage(c, fmt.Errorf("--rack-label: %q is no label: %s", a.rack, strings.Join(problems, "; ")))
	}
	return nil
}

// lists has a command of fairlead be about the live cluster unless its flags name another.
func (a *access) lists(c *cobra.Command) {
	a.asksForRacks(c)
	run := c.RunE
	if flag := c.Flags().Lookup("cluster"); flag != nil {
		flag.Usage = "`SRC` of nodes and pods (default: the cluster that kubectl talks to, listed with your rights)"
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if namesSource(c) || c.Flags().Lookup("cluster") == nil {
			if err := a.checkRack(c, false); err != nil {
				return err
			}
			return run(c, args)
		}
		if err := errors.Join(checkFormat(c), a.checkRack(c, true)); err != nil {
			return err
		}
		manifests, err := readManifests(c)
		if err != nil {
			return err
		}
		client, err := a.client()
		if err != nil {
			return err
		}
		l := &listing{client: client, command: strings.TrimPrefix(c.CommandPath(), program+" "), rack: a.rack}
		defer l.remove()
		if err := interruptible(func(ctx context.Context) error { return l.read(ctx, c) }); err != nil {
			return err
		}
		names, err := l.markManifests(c, manifests)
		if err != nil {
			return err
		}
		return names.in(run(c, args))
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

// listing is the cluster in a file, and what else a command is told by files.
type listing struct {
	client  dynamic.Interface
	command string
	rack    string // the label of nodes that names their rack; empty if there is none
	files   []string
	marks   *marker // what pods of manifests are to say as those of the list do
}

// remove takes the files away.
func (l *listing) remove() {
	for _, file := range l.files {
		_ = os.RemoveAll(file) // it is in the folder of temporary files
	}
}

// read lists the cluster, and has the command be about that.
func (l *listing) read(ctx context.Context, c *cobra.Command) error {
	lacking, err := dump.Unlistable(ctx, l.client)
	if err != nil {
		return err
	}
	if len(lacking) > 0 {
		return lackingError{l.command, lacking}
	}
	promises, table, err := promised(ctx, c, l.client)
	if table != "" {
		l.files = append(l.files, table)
	}
	if err != nil {
		return err
	}
	placed, notes, err := readStanding(ctx, l.client, l.rack)
	for _, note := range notes {
		fmt.Fprintf(c.ErrOrStderr(), "%s: %s\n", program, note)
	}
	if err != nil {
		return err
	}
	to, err := os.CreateTemp("", "fairlead-*.json")
	if err != nil {
		return err
	}
	l.files = append(l.files, to.Name())
	marks := newMarker(promises, placed)
	l.marks = marks
	served, err := servesGroups(ctx, l.client, metav1.NamespaceAll)
	if err != nil {
		return err
	}
	marks.unread = !served
	notes, err = dump.Write(ctx, l.client, to, dump.Extra{Each: marks.mark, Objects: placed.objects()})
	if marks.held > 0 {
		notes = append(notes, fmt.Sprintf("%s; here they are %d", notRead, marks.held))
	}
	for _, note := range notes {
		fmt.Fprintf(c.ErrOrStderr(), "%s: %s\n", program, note)
	}
	if err := errors.Join(err, to.Close()); err != nil {
		return err
	}
	return c.Flags().Set("cluster", "kubernetes:"+to.Name())
}
