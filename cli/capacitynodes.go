package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/capacity/fleet"
	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/setup"
	"fairlead.dev/fairlead/sim/trace/kubernetes"
)

// The command capacity nodes: how many nodes of which kinds hold all pods at the least price.

func newCapacityNodes(known policies.List) *cobra.Command {
	f := nodesFlags{moment: moment{known: known}}
	c := &cobra.Command{
		Use:   "nodes",
		Short: "Say how many nodes of which kinds hold all pods at the least price",
		Long: `Nodes chooses nodes for all pods of the cluster, those that run and those that wait, as if they
were placed anew, and says what any other nodes cost at least.

--offers FILE lists the kinds of nodes that may be bought, of one provider or several, in YAML
or JSON; capacity is what pods may ask for of a node:

  - {name: m5.xlarge, provider: aws, price: 0.192, capacity: {cpu: 3920m, memory: 15GiB, pods: 58},
     labels: {topology.kubernetes.io/zone: a}, taints: [{key: gpu, value: "yes", effect: NoSchedule}], most: 20}

Without it the kinds are those that the cluster has, as many of each, at a price of 1 each: how few
of its nodes would do. What DaemonSets run on a node is taken off what it has. Selectors, taints,
devices and limits per node are honoured. Other affinity and spread are not planned for, and refused by
name; with --lenient they are left aside.`,
		Example: `  fairlead capacity nodes --cluster me.json --offers offers.yaml
  fairlead capacity nodes --cluster me.json
  fairlead capacity nodes --cluster openb:DIR --at 3h -o json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			plan, at, err := f.plan(c)
			if err != nil {
				return usage(c, err)
			}
			offers, err := readOffersFile(f.offers, c.InOrStdin())
			if err != nil {
				return err
			}
			ctx, stop := stoppable(c)
			defer stop()
			l, err := f.with(ctx, plan, at, c, offers)
			if err != nil {
				return err
			}
			answer, err := f.answer(ctx, l, offers, plan.Spec.Source.Lenient, c)
			if err != nil {
				return err
			}
			return writeAnswer(f.format, c.OutOrStdout(), answer, answer.print)
		},
	}
	f.register(c)
	c.Flags().StringVar(&f.offers, "offers", "", "`FILE` with the kinds of nodes that may be bought, or - for the standard input (default: those of the cluster)")
	return c
}

// nodesFlags are the flags of nodes as they were typed.
type nodesFlags struct {
	moment
	offers string
}

// with is the cluster with the offers as nodes beside its own.
func (f *nodesFlags) with(ctx context.Context, plan *setup.Plan, at cluster.Time, c *cobra.Command, offers []offer) (*look, error) {
	var change func(setup.Opened) (setup.Opened, error)
	switch {
	case len(offers) == 0:
	case plan.Sources.Cluster.Format == "kubernetes" && plan.Sources.Workload.Text == plan.Sources.Cluster.Text:
		text, err := offersManifest(offers)
		if err != nil {
			return nil, err
		}
		changes := &kubernetes.Changes{Texts: []kubernetes.Text{{Name: inputName(f.offers), Manifests: text}}}
		if err := plan.Sources.Change(changes); err != nil {
			return nil, err
		}
	default:
		change = func(source setup.Opened) (setup.Opened, error) { return withOffers(source, offers) }
	}
	return lookAt(ctx, plan, at, c.ErrOrStderr(), change)
}

// answer solves, unless the context ends meanwhile.
func (f *nodesFlags) answer(ctx context.Context, l *look, offers []offer, lenient bool, c *cobra.Command) (*nodesAnswer, error) {
	n := newNeeds(l, offers)
	if names := n.unplanned; len(names) > 0 {
		what := fmt.Sprintf("%s: %s", report.Count(len(names), "constraint"), namesText(names, 5))
		if !lenient {
			return nil, fmt.Errorf("%s: want rules about one node alone, as no other affinity or spread is planned for; --lenient leaves them aside", what)
		}
		fmt.Fprintf(c.ErrOrStderr(), "fairlead: left aside %s\n", what)
	}
	if len(n.problem.Offers) == 0 {
		return nil, errors.New("the cluster has no nodes; say with --offers which may be bought")
	}
	p, err := until(ctx, 0, func() (fleet.Plan, error) { return fleet.Solve(&n.problem) })
	if err != nil {
		return nil, err
	}
	return newNodesAnswer(n, &p), nil
}

// isOffer reports whether the node stands for an offer.
func isOffer(name string, offers []offer) bool {
	return strings.HasPrefix(name, "offer ") && slices.ContainsFunc(offers, func(o offer) bool { return o.nodeName() == name })
}
