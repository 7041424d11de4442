package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/dynamic"

	"fairlead.dev/fairlead/cli"
	"fairlead.dev/fairlead/internal/nearest"
	"fairlead.dev/fairlead/kube/api/v1alpha1"
)

// This file is the command promises: what was promised to which workload, and how that stands. It reads WorkloadAccounts and ServiceClasses as the caller may.

const promisesHelp = `Promises lists the workloads to which an availability is promised, those at risk first: which
class they have, what that promises, what share of their time their replicas have run, how
much longer the one that is closest to it may be without running before it is critical (below
0 it is), how many are critical, how many there are, and what of the price of their class is
given back as it was not kept, in a currency that has no name.

Of a namespace you need the role view in it, and of all namespaces (-A) in the whole cluster.
Where you may not read ServiceClasses, workloads are not ordered by the importance of their
classes, and nobody says which classes are gone.`

func newPromises(a *access) *cobra.Command {
	var all bool
	var format string
	forms := genericclioptions.NewJSONYamlPrintFlags()
	c := &cobra.Command{
		Use:   "promises",
		Short: "Say what was promised to which workload, and how that stands",
		Long:  promisesHelp,
		Example: `  kubectl fairlead promises
  kubectl fairlead promises -A
  kubectl fairlead promises -n shop -o yaml`,
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if err := cobra.NoArgs(c, args); err != nil {
			return cli.Usage(c, err)
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		printer, err := forms.ToPrinter(format)
		if err != nil && format != "" {
			return cli.Usage(c, fmt.Errorf("--output: %w", nearest.Unknown("format", format, forms.AllowedFormats())))
		}
		client, err := a.client()
		if err != nil {
			return err
		}
		namespace, err := a.namespace()
		if err != nil {
			return err
		}
		if all {
			namespace = metav1.NamespaceAll
		}
		var p *promises
		err = interruptible(func(ctx context.Context) (err error) {
			p, err = readPromises(ctx, client, namespace)
			return err
		})
		if err != nil {
			return err
		}
		for _, note := range p.notes {
			fmt.Fprintf(c.ErrOrStderr(), "%s: %s\n", program, note)
		}
		if format != "" {
			return printer.PrintObj(p.list(), c.OutOrStdout())
		}
		return p.table(c.OutOrStdout(), all)
	}
	c.Flags().BoolVarP(&all, "all-namespaces", "A", false, "of all namespaces")
	c.Flags().StringVarP(&format, "output", "o", "", "json, yaml or kyaml: the accounts as they are, in the order of the table")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(forms.AllowedFormats(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// promises are what is promised, and to whom.
type promises struct {
	accounts []*v1alpha1.WorkloadAccount
	classes  map[string]*v1alpha1.ServiceClass // nil where the caller may not read them
	notes    []string
}

// readPromises reads the accounts of a namespace, or of all.
func readPromises(ctx context.Context, client dynamic.Interface, namespace string) (*promises, error) {
	p := &promises{}
	list, err := client.Resource(accounts()).Namespace(namespace).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsForbidden(err) && namespace == metav1.NamespaceAll:
		return nil, fmt.Errorf("you may not list workloadaccounts of all namespaces; without -A it is about one, in which the role view is enough: %w", err)
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("you may not list workloadaccounts in namespace %s; the role view in it is enough: %w", namespace, err)
	case apierrors.IsNotFound(err):
		return nil, errors.New("the cluster has no WorkloadAccounts: their definition is not installed, see kube/deploy/api")
	case err != nil:
		return nil, err
	}
	for i := range list.Items {
		account := &v1alpha1.WorkloadAccount{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, account); err != nil {
			return nil, fmt.Errorf("the account %s/%s: %w", list.Items[i].GetNamespace(), list.Items[i].GetName(), err)
		}
		if account.Status.Kind != "" { // it is written
			p.accounts = append(p.accounts, account)
		}
	}
	if err := p.readClasses(ctx, client); err != nil {
		return nil, err
	}
	slices.SortStableFunc(p.accounts, p.compare)
	p.review()
	if len(p.accounts) == 0 {
		where := "namespace " + namespace
		if namespace == metav1.NamespaceAll {
			where = "any namespace"
		}
		p.notes = append(p.notes, fmt.Sprintf("no workload of %s has an account: nothing is promised there, or fairlead-scheduler has not written it yet", where))
	}
	return p, nil
}

// readClasses reads the classes, if the caller may.
func (p *promises) readClasses(ctx context.Context, client dynamic.Interface) error {
	all, note, err := readClasses(ctx, client)
	if note != "" {
		p.notes = append(p.notes, note+"; workloads are not ordered by the importance of their classes")
		return nil
	}
	p.classes = map[string]*v1alpha1.ServiceClass{}
	for _, class := range all {
		p.classes[class.Name] = class
	}
	return err
}

// compare puts first those of which more replicas are at risk, then of the more important class, then with less slack.
func (p *promises) compare(a, b *v1alpha1.WorkloadAccount) int {
	return cmp.Or(
		cmp.Compare(b.Status.AtRisk, a.Status.AtRisk),
		cmp.Compare(p.importance(a), p.importance(b)),
		cmp.Compare(slackOf(a), slackOf(b)),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
	)
}

// importance is that of the account's class; that of one that nobody knows is the least.
func (p *promises) importance(a *v1alpha1.WorkloadAccount) int64 {
	if class := p.classes[a.Status.Class]; class != nil {
		return int64(class.Spec.Importance)
	}
	return math.MaxInt64
}

func slackOf(a *v1alpha1.WorkloadAccount) time.Duration {
	slack, err := time.ParseDuration(a.Status.Slack)
	if err != nil { // it has none
		return math.MaxInt64
	}
	return slack
}

// review says which classes of the accounts are gone, or do not count. Where no class can be read the configuration may have them.
func (p *promises) review() {
	var reviewed []string
	for _, a := range p.accounts {
		name := a.Status.Class
		if len(p.classes) == 0 || name == "" || slices.Contains(reviewed, name) {
			continue
		}
		reviewed = append(reviewed, name)
		class := p.classes[name]
		if class == nil {
			p.notes = append(p.notes, fmt.Sprintf("there is no ServiceClass %s any more: what it promised last holds for pods that have it", name))
			continue
		}
		if c := meta.FindStatusCondition(class.Status.Conditions, v1alpha1.Accepted); c != nil && c.Reason != v1alpha1.ReasonAccepted {
			p.notes = append(p.notes, fmt.Sprintf("the ServiceClass %s does not count, or not as it is (%s): %s", name, c.Reason, c.Message))
		}
	}
}

// list is the accounts as an object of the API.
func (p *promises) list() runtime.Object {
	list := &v1alpha1.WorkloadAccountList{Items: []v1alpha1.WorkloadAccount{}}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("WorkloadAccountList"))
	for _, a := range p.accounts {
		list.Items = append(list.Items, *a)
	}
	return list
}

// table prints the accounts as kubectl does.
func (p *promises) table(out io.Writer, all bool) error {
	if len(p.accounts) == 0 {
		return nil
	}
	table := &metav1.Table{}
	for _, column := range []string{"Workload", "Class", "Target", "Available", "Slack", "At Risk", "Replicas", "Credit"} {
		table.ColumnDefinitions = append(table.ColumnDefinitions, metav1.TableColumnDefinition{Name: column})
	}
	if all {
		table.ColumnDefinitions = slices.Insert(table.ColumnDefinitions, 0, metav1.TableColumnDefinition{Name: "Namespace"})
	}
	for _, a := range p.accounts {
		s := promiseOf(a)
		cells := []any{s.Workload, s.Class, s.Target, s.Available, s.Slack, s.AtRisk, s.Replicas, s.Credit}
		if all {
			cells = slices.Insert(cells, 0, any(a.Namespace))
		}
		table.Rows = append(table.Rows, metav1.TableRow{Cells: cells})
	}
	return printers.NewTablePrinter(printers.PrintOptions{}).PrintObj(table, out)
}

// promise is how what was promised to a workload stands.
type promise struct {
	Workload  string `json:"workload"`
	Class     string `json:"class"`
	Target    string `json:"target"`
	Available string `json:"available"`
	Slack     string `json:"slack"`
	AtRisk    int32  `json:"at_risk"`
	Replicas  int32  `json:"replicas"` // that somebody wants
	Credit    string `json:"credit"`
}

// promiseOf reads it of an account.
func promiseOf(a *v1alpha1.WorkloadAccount) *promise {
	s := &a.Status
	p := &promise{Workload: s.Kind + "/" + s.Name, Class: s.Class, Target: s.Target, Available: s.Available, Slack: s.Slack, AtRisk: s.AtRisk, Credit: s.Credit}
	for _, r := range s.Replicas {
		if r.State != "Absent" {
			p.Replicas++
		}
	}
	if s.Others != nil {
		p.Replicas += s.Others.Count
	}
	for _, text := range []*string{&p.Class, &p.Target, &p.Available, &p.Slack, &p.Credit} {
		*text = cmp.Or(*text, "-")
	}
	return p
}

// sentence says it in words.
func (p *promise) sentence() string {
	if p.Target == "-" {
		return fmt.Sprintf("Nothing is promised to %s any more.", p.Workload)
	}
	return fmt.Sprintf("Promised to %s by class %s: %s of its time; it has had %s, with a slack of %s, and %d of %d replicas are at risk.", p.Workload, p.Class, p.Target, p.Available, p.Slack, p.AtRisk, p.Replicas)
}
