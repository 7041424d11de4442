package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/kube/testbed"
)

// overheads is a measurement of how long containers take to start.
type overheads struct {
	out       string
	pods      int
	mebibytes int
}

func newOverheads() *cobra.Command {
	var o overheads
	c := &cobra.Command{
		Use:   "overheads",
		Short: "Measure how long a real kubelet takes to start pods, for fairlead simulate --overheads",
		Long: `Overheads starts a cluster with a real kubelet and containerd and measures the
time from bound to the first instruction of the container, one pod at a time:
hot, with the image on the node, and cold, where the kubelet first pulls it from
a registry on the loopback interface and unpacks it. There is no network in it:
add the time that yours takes for images of your size.

It needs root, and containerd and runc in PATH. Leave the machine alone meanwhile.`,
		Example: `  fairlead-testbed overheads --out overheads.txt
  fairlead simulate --overheads overheads.txt`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.pods < 1 || o.mebibytes < 0 {
				return fmt.Errorf("--pods %d --image-size %d: want one pod at least, and no negative size", o.pods, o.mebibytes)
			}
			// Before minutes of building.
			if err := testbed.CanRunContainers(c.Context()); err != nil {
				return fmt.Errorf("this machine cannot run containers: %w", err)
			}
			hot, cold, err := o.measure(c.Context(), c.ErrOrStderr())
			if err != nil {
				return err
			}
			if err := o.write(hot, cold); err != nil {
				return err
			}
			return o.print(c.OutOrStdout(), hot, cold)
		},
	}
	f := c.Flags()
	f.StringVar(&o.out, "out", "", "the file to write")
	f.IntVar(&o.pods, "pods", 50, "pods to start hot, and as many cold")
	f.IntVar(&o.mebibytes, "image-size", 64, "MiB of each cold image, unpacked; half of that is copied")
	_ = c.MarkFlagRequired("out") // The flag exists.
	return c
}

func (o *overheads) measure(ctx context.Context, log io.Writer) (hot, cold []time.Duration, err error) {
	if err := testbed.BuildKubelet(ctx, log); err != nil {
		return nil, nil, err
	}
	bed, err := testbed.Start(ctx, testbed.Options{Tmpfs: true})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	kubelet, err := bed.StartKubelet(ctx)
	if err != nil {
		return nil, nil, err
	}
	fmt.Fprintf(log, "starting %d pods hot\n", o.pods)
	if hot, err = kubelet.MeasureHot(ctx, o.pods); err != nil {
		return nil, nil, err
	}
	fmt.Fprintf(log, "starting %d pods cold\n", o.pods)
	cold, err = kubelet.MeasureCold(ctx, o.pods, o.mebibytes<<20)
	return hot, cold, err
}

// write writes a sample a line; the format has no comments.
func (o *overheads) write(hot, cold []time.Duration) error {
	var text strings.Builder
	for _, d := range hot {
		fmt.Fprintf(&text, "hot %.3f\n", d.Seconds())
	}
	for _, d := range cold {
		fmt.Fprintf(&text, "cold %.3f\n", d.Seconds())
	}
	if err := os.WriteFile(o.out, []byte(text.String()), 0o644); err != nil {
		return fmt.Errorf("write --out: %w", err)
	}
	return nil
}

func (o *overheads) print(w io.Writer, hot, cold []time.Duration) error {
	fmt.Fprintf(w, "%d pods each; a cold image is %d MiB\n\n", o.pods, o.mebibytes)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tmin\tmedian\tp90\tmax\t")
	for _, row := range []struct {
		name string
		took []time.Duration
	}{{"hot", hot}, {"cold", cold}} {
		sorted := slices.Sorted(slices.Values(row.took))
		n := len(sorted)
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t\n", row.name, short(sorted[0]), short(sorted[(n-1)/2]), short(sorted[(9*n-1)/10]), short(sorted[n-1]))
	}
	return t.Flush()
}
