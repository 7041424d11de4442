package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/capacity"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/document"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/setup"
	"fairlead.dev/fairlead/sim/trace/kubernetes"
)

// The command capacity fit: for how many more pods like one there is room. The pod is one of the cluster's, one of a
// manifest, or a plain one that asks for so much.

func newCapacityFit(known policies.List) *cobra.Command {
	f := fitFlags{moment: moment{known: known}}
	c := &cobra.Command{
		Use:   "fit",
		Short: "Say for how many more pods like one there is room, and what is short",
		Long: `Fit says for how many more pods there is room in the cluster as it is: like one that is
there (--like), like those of a manifest (-f), or plain ones that ask for so much
(--cpu, --memory, --request). Pods are placed one after the other, by the check that the
scheduler makes; selectors, taints, affinity, spread, devices and limits per node count.
Pods of the cluster that wait are left waiting, and take no room.

Without affinity and spread the number is exact; with them it is what was placed, and no
more than the bound can be.`,
		Example: `  fairlead capacity fit --cluster me.json --cpu 2 --memory 4GiB
  fairlead capacity fit --cluster me.json --request cpu=4,nvidia.com/gpu=1
  fairlead capacity fit --cluster me.json --like deploy/web
  fairlead capacity fit --cluster me.json -f app.yaml -o json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			plan, at, err := f.plan(c, f.check()...)
			if err != nil {
				return usage(c, err)
			}
			ctx, stop := stoppable(c)
			defer stop()
			answer, err := f.answer(ctx, plan, at, c)
			if err != nil {
				return err
			}
			return writeAnswer(f.format, c.OutOrStdout(), answer, answer.print)
		},
	}
	f.register(c)
	return c
}

// fitFlags are the flags of fit as they were typed.
type fitFlags struct {
	moment
	like, file, cpu, memory, request string
}

func (f *fitFlags) register(c *cobra.Command) {
	f.moment.register(c)
	s := c.Flags()
	s.StringVar(&f.like, "like", "", "pods like this `POD` of the cluster: by its name, such as shop/web-0, or by who made it, such as deploy/web or shop/statefulset/db")
	s.StringVarP(&f.file, "filename", "f", "", "the pods of the manifests in `FILE`, or - for the standard input: Pods, Deployments, ReplicaSets, StatefulSets and Jobs")
	s.StringVar(&f.cpu, "cpu", "", "cores that a plain pod asks for, such as 2 or 500m")
	s.StringVar(&f.memory, "memory", "", "memory that a plain pod asks for, such as 4GiB")
	s.StringVar(&f.request, "request", "", "what else a plain pod asks for, such as nvidia.com/gpu=1,ephemeral-storage=10GiB")
}

// check says what is wrong with the flags that say which pod.
func (f *fitFlags) check() (errs []error) {
	ways := 0
	for _, is := range []bool{f.like != "", f.file != "", f.cpu+f.memory+f.request != ""} {
		if is {
			ways++
		}
	}
	if ways != 1 {
		errs = append(errs, errors.New("want one of --like POD, -f FILE, and --cpu, --memory or --request: which pod is to fit"))
	}
	if _, err := f.requests(); err != nil {
		errs = append(errs, err)
	}
	return errs
}

// answer counts.
func (f *fitFlags) answer(ctx context.Context, plan *setup.Plan, at cluster.Time, c *cobra.Command) (*fitAnswer, error) {
	var change func(setup.Opened) (setup.Opened, error)
	var added kubernetes.Changes
	switch inKubernetes := plan.Sources.Workload.Format == "kubernetes"; {
	case f.file != "":
		text, err := readManifest(f.file, c.InOrStdin())
		if err != nil {
			return nil, fmt.Errorf("-f: %w", err)
		}
		added.Texts = []kubernetes.Text{{Name: inputName(f.file), Manifests: text}}
	case f.like == "" && inKubernetes:
		added.Texts = []kubernetes.Text{{Name: "the pod of --cpu, --memory and --request", Manifests: f.plainManifest()}}
	case f.like == "":
		change = f.withPlain
	}
	if len(added.Texts) > 0 {
		if err := plan.Sources.Change(&added); err != nil {
			return nil, fmt.Errorf("-f: --cluster: %w", err)
		}
	}
	l, err := lookAt(ctx, plan, at, c.ErrOrStderr(), change)
	if err != nil {
		return nil, err
	}
	switch {
	case f.like != "":
		return f.countLike(ctx, plan, at, l)
	case change != nil:
		return countAsked(l, []cluster.TaskID{l.named(plainPod)}, false)
	}
	return countAsked(l, l.added(), f.file != "")
}

// named is the row of a task.
func (l *look) named(name string) cluster.TaskID { return cluster.TaskID(slices.Index(l.Names, name)) }

// readManifest reads the file.
func readManifest(file string, stdin io.Reader) ([]byte, error) {
	in, err := openInput(file, stdin)
	if err != nil {
		return nil, err
	}
	text, err := document.ReadAll(in)
	return text, errors.Join(err, in.Close())
}

// mostCopies is how many more pods are made known to the reader where they are spread.
const mostCopies = 250

// countLike counts for pods like one of the cluster's. Where they are spread, the rules of the spread depend on how many
// there are, and the cluster is looked at once more, with so many of them.
func (f *fitFlags) countLike(ctx context.Context, plan *setup.Plan, at cluster.Time, l *look) (*fitAnswer, error) {
	like, err := findLike(l, f.like)
	if err != nil {
		return nil, fmt.Errorf("--like: %w", err)
	}
	name, owner := l.Names[like], l.Owners[like]
	if l.Pinned[like] {
		return nil, fmt.Errorf("--like: %s is its node's own, as a DaemonSet's pods are: there is one on each node that is to have it", report.Printable(name))
	}
	most, waiting := capacity.MostTasks, l.v.InPhase(cluster.Waiting)
	if l.v.Constrained(l.v.Task(like).Shape) && l.dump != nil {
		copies := capacity.NewCounter(l.v).Room(like, mostCopies)
		own := 0
		for _, by := range l.Owners {
			if by == owner {
				own++
			}
		}
		if err := plan.Sources.Change(&kubernetes.Changes{Scale: []kubernetes.Size{{Owner: owner, Pods: own + copies}}}); err != nil {
			return nil, err
		}
		with, err := lookAt(ctx, plan, at, io.Discard, nil)
		if err == nil { // else it is one pod by itself, or these would be too many for the rules
			l, most, like = with, max(copies, 1), with.named(name)
		}
	}
	answer := &fitAnswer{kinds: l.v.Kinds(), Waiting: waiting}
	return answer, answer.add(l, capacity.NewCounter(l.v), like, name, most)
}
