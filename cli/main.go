// Package cli is the command fairlead, which simulates schedulers, as a value: with policies from
// elsewhere it is the same command, which has these, too. See Main.
package cli

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/policies"
)

// Exit codes, as the help says.
const (
	exitFailure     = 1   // something went wrong while running
	exitUsage       = 2   // the command line cannot be understood
	exitInterrupted = 130 // stopped by Ctrl-C
)

// Main executes the command line of the process and returns its exit code. The policies are known
// besides Fairlead's own, by their names and with their options as flags:
//
//	func main() { os.Exit(cli.Main(mine.Policy())) }
func Main(own ...policies.Info) int { return MainWith(nil, own...) }

// MainWith is Main of a program that keeps sweeps in further stores, too.
func MainWith(stores Stores, own ...policies.Info) int {
	known := append(policies.All(), own...)
	if err := checkKnown(known); err != nil {
		return exitCode(err, "fairlead", os.Stderr)
	}
	return Execute(newRootWith(known, stores), os.Stderr)
}

// Command is the command as a value, for a program that is this one and more: it adds what it has, and calls Execute.
func Command() *cobra.Command { return newRoot(policies.All()) }

// Execute runs the command, prints its error as its user needs it, and returns the exit code.
func Execute(root *cobra.Command, stderr io.Writer) int {
	return exitCode(root.Execute(), root.DisplayName(), stderr)
}

// Usage marks an error of the command as one of how it was called: the exit code says so, and the help is named.
func Usage(c *cobra.Command, err error) error { return usage(c, err) }

// Run is Main for a command line that is not the process's own: its words behind the name of the command, and where results
// and all else go.
func Run(words []string, stdout, stderr io.Writer) int {
	root := newRoot(policies.All())
	root.SetArgs(words)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return Execute(root, stderr)
}

// checkKnown says what is wrong with the policies, or which of their options is called as a flag of
// a command that takes options.
func checkKnown(known policies.List) error {
	if err := known.Check(); err != nil {
		return err
	}
	for _, c := range []*cobra.Command{newSimulate(nil), newExplain(nil), newPlan(nil), newAdvise(nil)} {
		c.InitDefaultHelpFlag()
		for _, p := range known {
			for _, x := range p.Options {
				if c.Flags().Lookup(x.Flag()) != nil {
					return fmt.Errorf("policy %s: an option is called %s, as a flag of 'fairlead %s' is; give yours another name", p.Name, x.Name, c.Name())
				}
			}
		}
	}
	return nil
}

// exitCode prints an error as the user of a command of that name needs it, and returns the exit code.
func exitCode(err error, name string, stderr io.Writer) int {
	if err == nil {
		return 0
	}
	if errors.Is(err, errChanges) {
		return exitChanges
	}
	fmt.Fprintf(stderr, "%s: %v\n", name, err)
	if _, found := errors.AsType[foundError](err); found {
		return exitChanges
	}
	if errors.Is(err, errInterrupted) {
		return exitInterrupted
	}
	if usage, ok := errors.AsType[usageError](err); ok {
		fmt.Fprintf(stderr, "Run '%s %s--help' for usage.\n", name, usage.command)
		return exitUsage
	}
	return exitFailure
}

// errInterrupted says that Ctrl-C ended the run.
var errInterrupted = errors.New("interrupted")

// Interrupted is the error of a command that Ctrl-C has ended, by which the exit code says so.
func Interrupted() error { return errInterrupted }

// usageError is a command line that cannot be understood.
type usageError struct {
	command string // the subcommand with a space behind it, or empty
	err     error
}

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func newRoot(known policies.List) *cobra.Command { return newRootWith(known, nil) }

func newRootWith(known policies.List, stores Stores) *cobra.Command {
	root := &cobra.Command{
		Use:   "fairlead",
		Short: "Simulate cluster schedulers on real and generated workloads",
		Long: `Fairlead is a container scheduler that decides for the whole cluster at once,
keeps the promises made to each workload, and says why.

Results go to stdout, everything else to stderr. Nothing is coloured, with or
without NO_COLOR. Exit codes: 0 means done, 1 that something went wrong, 2 that
the command line cannot be understood, 3 that 'plan' would change something or that
something is there which --fail-on names, 130 that Ctrl-C interrupted the command.`,
		Example: `  fairlead simulate
  fairlead policies
  fairlead advise --cluster me.json
  fairlead trace describe synthetic:google,nodes=200`,
		Version:           version(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return refuseEmpty(c) },
		Args:              cobra.NoArgs,
		RunE:              func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usage(c, flagError(c, err)) })
	root.AddCommand(newSimulate(known), newSweep(known, stores), newReport(known), newCompare(), newPolicies(known), newClasses(), newConstraints(), newExperiment(), newExplain(known), newPlan(known), newAdvise(known), newCapacity(known), newTrace(), newSolve(), newPlace(), newVersion())
	group(root)
	root.SetVersionTemplate("fairlead {{.Version}}\n")
	root.SetHelpCommand(newHelp(root))
	for _, c := range root.Commands() {
		wrapArgs(c)
	}
	wrapArgs(root)
	return root
}

// refuseEmpty refuses flags whose value was typed and is empty, as by a variable of a shell that is not set.
func refuseEmpty(c *cobra.Command) error {
	var errs []error
	c.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" {
			errs = append(errs, fmt.Errorf("--%s: its value is empty; leave the flag out, or say what it is to be", f.Name))
		}
	})
	if err := errors.Join(errs...); err != nil {
		return usage(c, err)
	}
	return nil
}

// wrapArgs makes errors about positional arguments usage errors.
func wrapArgs(c *cobra.Command) {
	for _, sub := range c.Commands() {
		wrapArgs(sub)
	}
	check := c.Args
	if check == nil {
		check = cobra.NoArgs
	}
	c.Args = func(c *cobra.Command, args []string) error {
		err := check(c, args)
		if c.HasSubCommands() && len(args) > 0 && !takesArguments(c) {
			err = unknownCommand(c, args[0])
		}
		if err != nil {
			return usage(c, err)
		}
		return nil
	}
}

// takesArguments reports whether the command takes arguments besides commands of its own, as sweep does.
func takesArguments(c *cobra.Command) bool { return strings.Contains(c.Use, " ") }

// flagError is what to say of a flag that could not be read.
func flagError(c *cobra.Command, err error) error {
	// Behind a command that is not there no flag is known: that is no flaw of the
	// flag.
	if args := c.Flags().Args(); c.HasSubCommands() && len(args) > 0 && !takesArguments(c) {
		return unknownCommand(c, args[0])
	}
	missing, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || missing.GetSpecifiedShortnames() != "" {
		return err
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near, ok := nearest.Of(missing.GetSpecifiedName(), names); ok {
		return fmt.Errorf("%w; did you mean --%s?", err, near)
	}
	return err
}

func unknownCommand(c *cobra.Command, name string) error {
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	return unknown("command", name, names)
}

// usage marks an error as one of the command line.
func usage(c *cobra.Command, err error) error {
	command := ""
	for ; c.HasParent(); c = c.Parent() {
		command = c.Name() + " " + command
	}
	return usageError{command, err}
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version and what it was built with",
		Example: "  fairlead version",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "fairlead %s\n", version())
			return err
		},
	}
}

// program tells this program from others that may come to other results: by its version, where that says which source it
// was built of, and else by a hash of it.
func program() (string, error) {
	info, ok := debug.ReadBuildInfo()
	if ok && released(info) {
		text := []string{info.Main.Path, info.Main.Version}
		for _, s := range info.Settings {
			if s.Key == "-tags" {
				text = append(text, s.Value)
			}
		}
		return strings.Join(text, " "), nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, file)
	return fmt.Sprintf("development %x", sum.Sum(nil)[:16]), errors.Join(err, file.Close())
}

// released reports whether the version of the program says all of its source: no file of it was changed, and no module is
// replaced by a folder.
func released(info *debug.BuildInfo) bool {
	v := info.Main.Version
	return v != "" && v != "(devel)" && !strings.Contains(v, "+dirty") &&
		!slices.ContainsFunc(info.Deps, func(m *debug.Module) bool { return m.Replace != nil && m.Replace.Version == "" })
}

// version is that of the program, with what it was built of and by.
func version() string {
	version, revision, goVersion := "development", "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		goVersion = info.GoVersion
		if v := info.Main.Version; v != "" && v != "(devel)" {
			version = v
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = " " + s.Value
			}
		}
	}
	return version + revision + " " + goVersion
}
