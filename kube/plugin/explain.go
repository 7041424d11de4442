package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"fairlead.dev/fairlead/cli"
	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/kube/dump"
)

// This file is explain with a pod, a pod group or a workload behind it. Who may list the cluster is told what 'fairlead explain --task' says of
// it, and what the scheduler itself has written. Who may not is told what is written on his pod.

const explainHelp = `Explain says why pods wait. Of a pod, NAME or pod/NAME, it lists the nodes that it could
go to with the parts of their prices, what waiting costs, why the other nodes do not take it
and what would change that, and what the scheduler itself has said of it. podgroup/NAME, or a
workload such as deploy/NAME, says it of all of its pods that wait, and of one of them more.
Without a name it says why all pods wait, and what one more node of each kind would be worth.

The cluster is listed with your own rights, and the decision is worked out on this machine.
Who may not list nodes, or the pods of all namespaces, is told what is written on the pod: the
scheduler's last words on it, its events, and how what was promised to it stands.

With --cluster it is about a dump of a cluster, as all commands are.`

// explains has the command explain take what is to be explained as kubectl does.
func (a *access) explains(c *cobra.Command) {
	a.lists(c)
	run := c.RunE
	c.Use, c.Long, c.Args = "explain [NAME | KIND/NAME]", explainHelp, atMostOne
	c.Example = `  kubectl fairlead explain web-0
  kubectl fairlead explain pod/web-0 -n shop -o json
  kubectl fairlead explain podgroup/train -n ml
  kubectl fairlead explain deploy/web -n shop --cluster me.json
  kubectl fairlead explain`
	c.ValidArgsFunction = a.completePods
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := checkFormat(c); err != nil {
			return err
		}
		if len(args) == 0 {
			return run(c, args)
		}
		namespace, err := a.namespace()
		if err != nil {
			return err
		}
		about, err := subjectOf(args[0], namespace)
		switch {
		case err != nil:
			return cli.Usage(c, err)
		case c.Flags().Changed("task"):
			return cli.Usage(c, fmt.Errorf("--task names what to explain, and so does %s: leave one out", args[0]))
		}
		if err := c.Flags().Set("task", about.task()); err != nil {
			return err
		}
		if namesSource(c) {
			return run(c, nil)
		}
		return a.explain(c, about, run)
	}
}

// subject is what is to be explained.
type subject struct{ kind, namespace, name string }

// String is what people call it.
func (s subject) String() string { return s.kind + " " + s.namespace + "/" + s.name }

// task is what package explain calls it.
func (s subject) task() string {
	if s.kind == podKind {
		return s.namespace + "/" + s.name
	}
	return s.namespace + "/" + s.kind + "/" + s.name
}

const podKind, podGroupKind = "pod", "podgroup"

// subjectOf reads NAME or KIND/NAME.
func subjectOf(text, namespace string) (subject, error) {
	kind, name, named := strings.Cut(text, "/")
	if !named {
		kind, name = podKind, text
	}
	known := map[string]string{
		podKind: podKind, "pods": podKind, "po": podKind, podGroupKind: podGroupKind, "podgroups": podGroupKind,
		"deployment": "deployment", "deployments": "deployment", "deploy": "deployment", "statefulset": "statefulset", "statefulsets": "statefulset", "sts": "statefulset",
		"replicaset": "replicaset", "replicasets": "replicaset", "rs": "replicaset", "job": "job", "jobs": "job",
	}
	switch full, is := known[strings.ToLower(kind)]; {
	case name == "" || strings.Contains(name, "/"):
		return subject{}, fmt.Errorf("%s: want NAME or KIND/NAME, and the namespace behind -n", text)
	case !is:
		return subject{}, fmt.Errorf("%s: unknown kind %q, want pod, podgroup, deployment, statefulset, replicaset or job; a namespace goes behind -n", text, kind)
	default:
		return subject{full, namespace, name}, nil
	}
}

// checkFormat refuses a form of answers that the command does not have, before the cluster is asked for any.
func checkFormat(c *cobra.Command) error {
	flag := c.Flags().Lookup("output")
	forms, is := c.GetFlagCompletionFunc("output")
	if flag == nil || !is {
		return nil
	}
	known, _ := forms(c, nil, "")
	if slices.Contains(known, flag.Value.String()) {
		return nil
	}
	return cli.Usage(c, fmt.Errorf("--output: %w", nearest.Unknown("format", flag.Value.String(), known)))
}

// explain explains it in the live cluster.
func (a *access) explain(c *cobra.Command, about subject, run func(*cobra.Command, []string) error) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	var told *told
	var lacking []string
	err = interruptible(func(ctx context.Context) (err error) {
		if told, err = (&reader{client, time.Now()}).read(ctx, about); err != nil || told != nil && told.undecided != "" {
			return err
		}
		lacking, err = dump.Unlistable(ctx, client)
		return err
	})
	format := c.Flags().Lookup("output").Value.String()
	switch {
	case err != nil:
		return err
	case told != nil && told.undecided != "":
		return told.write(c.OutOrStdout(), format)
	case len(lacking) > 0 && told == nil:
		return lackingError{"what is said of a " + about.kind, lacking}
	case len(lacking) > 0:
		told.NotListed = lacking
		return told.write(c.OutOrStdout(), format)
	}
	if err := run(c, nil); err != nil || told == nil || format != "text" {
		return err
	}
	return told.writeOwn(c.OutOrStdout())
}

// reader reads single objects of the cluster, at a moment.
type reader struct {
	client dynamic.Interface
	now    time.Time
}

// read reads what is written on what is to be explained; nil of a workload, on which nothing is.
func (r *reader) read(ctx context.Context, about subject) (*told, error) {
	switch about.kind {
	case podKind:
		pod, err := r.pod(ctx, about)
		if err != nil {
			return nil, err
		}
		return r.toldOf(ctx, pod)
	case podGroupKind:
		return r.toldOfGroup(ctx, about)
	}
	return nil, nil //nolint:nilnil // nothing is written on workloads
}

func pods() schema.GroupVersionResource { return v1.SchemeGroupVersion.WithResource("pods") }

// pod reads a pod.
func (r *reader) pod(ctx context.Context, about subject) (*v1.Pod, error) {
	object, err := r.client.Resource(pods()).Namespace(about.namespace).Get(ctx, about.name, metav1.GetOptions{})
	if err != nil {
		return nil, r.noSuch(ctx, pods(), about, err)
	}
	pod := &v1.Pod{}
	return pod, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, pod)
}

// noSuch says why an object cannot be read, and of one that is not there which one might be meant.
func (r *reader) noSuch(ctx context.Context, of schema.GroupVersionResource, about subject, err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("you may not get %s in namespace %s: %w", of.Resource, about.namespace, err)
	}
	if !apierrors.IsNotFound(err) {
		return err
	}
	hint := ""
	if list, err := r.client.Resource(of).Namespace(about.namespace).List(ctx, metav1.ListOptions{}); err == nil {
		var names []string
		for i := range list.Items {
			names = append(names, list.Items[i].GetName())
		}
		near, found := nearest.Of(about.name, names)
		switch {
		case found:
			hint = "; did you mean " + near + "?"
		case len(names) == 0:
			hint = "; there is none in that namespace, -n names another"
		default:
			hint = fmt.Sprintf("; there %s, such as %s", are(len(names)), names[0])
		}
	}
	return errors.New("there is no " + about.String() + hint)
}

// are says that there are so many.
func are(n int) string {
	if n == 1 {
		return "is 1"
	}
	return fmt.Sprintf("are %d", n)
}

// completePods offers the pods of the namespace to a shell.
func (a *access) completePods(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	namespace, err := a.namespace()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.namesOf(pods(), namespace), cobra.ShellCompDirectiveNoFileComp
}

// completing is how long a shell waits for names.
const completing = 3 * time.Second

// namesOf are the names of objects, as far as they can be had soon.
func (a *access) namesOf(of schema.GroupVersionResource, namespace string) (names []string) {
	client, err := a.client()
	if err != nil {
		return nil
	}
	ctx, stop := context.WithTimeout(context.Background(), completing)
	defer stop()
	list, err := client.Resource(of).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	for i := range list.Items {
		names = append(names, list.Items[i].GetName())
	}
	return names
}
