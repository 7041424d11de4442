package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/queue/fragmentation"
	"fairlead.dev/fairlead/setup"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/stream"
)

// conversion is what is read, and what is written where.
type conversion struct {
	from   setup.Sources
	data   setup.Data
	seed   uint64
	to     setup.Format
	output string
}

func newConvert() *cobra.Command {
	var f convertFlags
	c := &cobra.Command{
		Use:   "convert SRC [SRC]",
		Short: "Write a workload in another format",
		Long: `Convert reads a source to its end and writes it in another format. Given two
sources, it takes the nodes of the first and the tasks of the second. A run on
what was written is the same, byte for byte, as one on what was read. What the
format cannot hold is an error, or with --lenient left out and counted.

With --redact a cluster's dump stays one, for somebody else to ask: each object is written
with those of its fields that decide where pods may go, and all others, and objects of
other kinds, are left out. Names, namespaces, labels, taints and requests are in it.

Where nodes and tasks come from, SRC, says 'fairlead help sources'.

--to is one of:
` + targetHelp(),
		Example: `  fairlead trace convert google2011:DIR --output google.jsonl.gz
  fairlead trace convert --redact me.json --output for-others.json.gz
  fairlead trace convert swf:log.swf.gz --output -
  fairlead trace convert 'synthetic:ec2?nodes=100' swf:log.swf --output log-on-ec2.jsonl`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			if f.redact {
				redaction, err := f.redaction(c, args)
				if err != nil {
					return usage(c, err)
				}
				return redaction.run(c)
			}
			plan, err := f.plan(args)
			if err != nil {
				return usage(c, err)
			}
			return plan.run(c)
		},
	}
	f.register(c)
	c.Flags().StringVar(&f.to, "to", streamName, "`FORMAT` to write")
	f.registerUntil(c)
	c.Flags().Uint64Var(&f.seed, "seed", 1, "the seed for what is made up or shuffled, where the source names none")
	c.Flags().BoolVar(&f.redact, "redact", false, "write a cluster's dump as it is, without what is not read of it: environment, arguments, images, annotations, addresses")
	c.Flags().BoolVar(&f.lenient, "lenient", false, "leave out, and count, broken lines and what the format cannot hold")
	return c
}

// convertFlags are the flags as they were given.
type convertFlags struct {
	to, until, output string
	data              string
	seed              uint64
	lenient, redact   bool
}

func (f *convertFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.output, "output", "", "`FILE` to write, compressed if it ends in .gz, a Parquet table if in .parquet; - is the standard output")
	c.Flags().StringVar(&f.data, "data", "", setup.DataHelp)
}

func (f *convertFlags) registerUntil(c *cobra.Command) {
	c.Flags().StringVar(&f.until, "until", "", "`time` at which to stop (default: "+setup.DefaultUntil+" for sources without end, else the end)")
}

// plan turns the flags into a conversion, or says what is wrong with each.
func (f *convertFlags) plan(args []string) (*conversion, error) {
	plan := &conversion{seed: f.seed, output: f.output}
	var errs []error
	flag := func(name string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", name, err))
		}
	}
	var from [2]setup.URL
	for i := range from {
		var err error
		if from[i], err = parseConvertible(args[min(i, len(args)-1)]); err != nil && i < len(args) {
			errs = append(errs, err)
		}
	}
	plan.from = setup.NewSources(from[0], from[1], setup.URL{}, f.lenient)
	var err error
	plan.to, err = targetNamed(f.to)
	flag("to", err)
	if f.until == "" && (plan.from.Workload.Endless() || plan.from.Cluster.Endless()) {
		f.until = setup.DefaultUntil
	}
	if f.until != "" {
		plan.from.Until, err = setup.ParseUntil(f.until)
		flag("until", err)
	}
	plan.data, err = setup.ParseData(f.data)
	flag("data", err)
	if f.output == "" {
		flag("output", errors.New("want a file, or - for the standard output"))
	}
	errs = append(errs, checkOutputs([]named{{"", plan.from.Cluster.File()}, {"", plan.from.Workload.File()}}, []named{{"output", f.output}}))
	return plan, errors.Join(errs...)
}

func parseConvertible(text string) (setup.URL, error) {
	if strings.HasPrefix(text, "recording:") {
		return setup.URL{}, fmt.Errorf("%s: a recording holds what a scheduler saw and decided, not a workload; it is replayed as it was", text)
	}
	return setup.ParseURL(setup.Guess(text))
}

// run converts, and says on stderr what was written and what was lost.
func (p *conversion) run(c *cobra.Command) error {
	ctx, stop := stoppable(c)
	defer stop()
	if err := p.from.Check(); err != nil {
		return err
	}
	src, err := interruptible(ctx, func() (setup.Opened, error) { return p.from.Open(p.seed) })
	if err != nil {
		return err
	}
	defer src.Close() //nolint:errcheck // it was only read
	with, err := p.data.On(src, p.seed)
	if err != nil {
		return err
	}
	end := cmp.Or(p.from.Until, src.End)
	counted := &counted{
		Source: trace.Limit(with, cmp.Or(end, cluster.Never)), typical: src.Typical(), end: end,
		stopped: func() bool { return ctx.Err() != nil },
	}
	out, err := createOutput(p.output, c.OutOrStdout())
	if err != nil {
		return err
	}
	losses := trace.Losses{Lenient: p.from.Lenient}
	write := p.to.Write
	if p.to.Name == streamName && strings.HasSuffix(p.output, parquetEnding) {
		write = stream.CopyParquet
	}
	if err := write(out, counted, &losses); err != nil {
		if out.part != "" && errors.Is(err, errInterrupted) {
			err = fmt.Errorf("%w; nothing was written", err)
		}
		return errors.Join(err, out.Discard())
	}
	if err := out.Commit(); err != nil {
		return err
	}
	stderr := c.ErrOrStderr()
	fmt.Fprintf(stderr, "fairlead: wrote %d records of nodes and %d of tasks to %s\n", counted.nodes, counted.tasks, p.output)
	new(notePrinter).print(stderr, src.Notes())
	for _, l := range losses.Counts {
		fmt.Fprintf(stderr, "fairlead: %s holds no %s; left out: %d\n", p.to.Name, l.What, l.Count)
	}
	return nil
}

// counted counts the records that are read, and ends when it is stopped.
type counted struct {
	trace.Source
	typical      []fragmentation.Typical
	end          cluster.Time
	stopped      func() bool
	nodes, tasks int
}

// Typical is what the source knows of its tasks.
func (c *counted) Typical() []fragmentation.Typical { return c.typical }

// End is where what is written ends.
func (c *counted) End() cluster.Time { return c.end }

// Next counts the next record.
func (c *counted) Next(r *trace.Record) error {
	if c.stopped() {
		return errInterrupted
	}
	err := c.Source.Next(r)
	switch {
	case err != nil:
	case r.What.OfNode():
		c.nodes++
	case r.What == trace.TaskSubmitted || r.What == trace.TaskKilled:
		c.tasks++
	}
	return err
}

// streamName is what our own format is called where a format is to be named.
const streamName = "stream"

// targets lists the formats, our own among them.
func targets() []setup.Format {
	own := setup.Format{Name: streamName, Write: func(to io.Writer, src trace.Source, losses *trace.Losses) error { return stream.Copy(to, src, losses) }}
	return append([]setup.Format{own}, setup.Formats()...)
}

// targetHelp lists the formats that can be written.
func targetHelp() string {
	var names []string
	for _, f := range targets() {
		if f.Write != nil {
			names = append(names, f.Name)
		}
	}
	return "  " + strings.Join(names, ", ") + "; stream is Fairlead's own, JSON lines, or a Parquet table if FILE ends in .parquet"
}

// targetNamed returns the format of that name, if it can be written.
func targetNamed(name string) (setup.Format, error) {
	var writable []string
	for _, f := range targets() {
		switch {
		case f.Write != nil:
			writable = append(writable, f.Name)
			if f.Name == name {
				return f, nil
			}
		case f.Name == name:
			return setup.Format{}, fmt.Errorf("%s is only read: it could not hold %s; write %s instead", name, f.Lacks, streamName)
		}
	}
	return setup.Format{}, unknown("format", name, writable)
}
