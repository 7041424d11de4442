package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/testbed"
)

// flatOut is a rate limit of clients that nothing on one machine reaches.
const flatOut = 10_000

// up is a cluster to play with.
type up struct {
	nodes         int
	options       testbed.Options
	kubeScheduler bool
	scheduler     string
	schedulerArgs []string
}

func newUp() *cobra.Command {
	var u up
	c := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster and keep it until Ctrl-C",
		Example: `  fairlead-testbed up --kube-scheduler
  fairlead-testbed up --tmpfs --controller-manager --scheduler ../bin/fairlead-scheduler`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if _, err := testbed.Build(c.Context(), c.ErrOrStderr()); err != nil {
				return err
			}
			bed, err := testbed.Start(c.Context(), u.options)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, bed.Close()) }()
			if err := u.fill(c.Context(), bed); err != nil {
				return err
			}
			u.explain(c.OutOrStdout(), bed)
			return bed.Wait(c.Context())
		},
	}
	f := c.Flags()
	f.IntVar(&u.nodes, "nodes", 1000, "fake nodes")
	f.BoolVar(&u.options.Tmpfs, "tmpfs", false, "keep etcd's data in memory")
	f.BoolVar(&u.options.Kwok, "kwok", false, "run kwok: pods on the fake nodes become running")
	f.BoolVar(&u.options.ControllerManager, "controller-manager", false,
		"run Kubernetes' controllers, for Deployments and the like, and kwok, or they would declare the nodes dead")
	f.StringArrayVar(&u.options.APIServerFlags, "apiserver-flag", nil, "one more flag for kube-apiserver; may be repeated")
	f.StringVar(&u.options.Dir, "dir", "", "an empty folder for logs, which stay there (default a temporary one)")
	f.BoolVar(&u.kubeScheduler, "kube-scheduler", false, "run Kubernetes' scheduler")
	f.StringVar(&u.scheduler, "scheduler", "", "run this fairlead-scheduler")
	f.StringArrayVar(&u.schedulerArgs, "scheduler-args", nil, "one more argument for it; may be repeated")
	c.PreRun = func(*cobra.Command, []string) {
		u.options.Kwok = u.options.Kwok || u.options.ControllerManager
	}
	return c
}

// fill adds nodes and starts the schedulers.
func (u *up) fill(ctx context.Context, bed *testbed.Bed) error {
	client, err := bed.Client(testbed.Admin)
	if err != nil {
		return err
	}
	if err := testbed.AddNodes(ctx, client, testbed.NodeOptions{Count: u.nodes}); err != nil {
		return err
	}
	// The user that a scheduler under development gets may do everything.
	if err := bed.Grant(ctx, testbed.Fairlead, "cluster-admin"); err != nil {
		return err
	}
	if u.kubeScheduler {
		if err := bed.StartKubeScheduler(ctx, flatOut); err != nil {
			return err
		}
	}
	if u.scheduler != "" {
		return bed.StartFairlead(ctx, u.scheduler, testbed.ProfileOf(config.DefaultPolicy), flatOut, u.schedulerArgs...)
	}
	return nil
}

// explain prints what to type next.
func (u *up) explain(w io.Writer, bed *testbed.Bed) {
	name := "default-scheduler"
	if u.scheduler != "" || !u.kubeScheduler {
		name = testbed.FairleadProfile
	}
	fmt.Fprintf(w, `%d nodes are ready at %s. In another shell:

  export KUBECONFIG=%s
  alias kubectl=%s
  kubectl get nodes
`, u.nodes, bed.Config(testbed.Admin).Host, bed.Kubeconfig(testbed.Admin), bed.Program("kubectl"))
	if u.options.ControllerManager {
		fmt.Fprintf(w, `  kubectl create deployment hello --image=pause --replicas=10 --dry-run=client -o json |
    kubectl patch --local -f - -o json -p '{"spec":{"template":{"spec":{"schedulerName":%q}}}}' |
    kubectl apply -f -
`, name)
	} else {
		fmt.Fprintf(w, `  kubectl run hello --image=pause --overrides='{"spec":{"schedulerName":%q}}'
`, name)
	}
	fmt.Fprintf(w, `  kubectl get pods -o wide

`)
	if u.scheduler == "" && !u.kubeScheduler {
		fmt.Fprintf(w, "No scheduler runs. Start one of your own with the kubeconfig\n%s\n\n", bed.Kubeconfig(testbed.Fairlead))
	}
	fmt.Fprintf(w, "Each process logs to %s/NAME.log. Ctrl-C ends them all and removes the data.\n", bed.Dir())
}
