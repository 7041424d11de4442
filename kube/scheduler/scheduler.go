// Package scheduler joins the parts to a running scheduler: informers to the
// world, the world's events to the core, the core's decisions to binds, and
// what came of them back.
//
// One goroutine, the loop, owns the world and the core (loop.go). Whatever
// happens elsewhere is put into its inbox as a function to be called by the
// loop: what informers see, and what became of binds. A round starts when
// something happened, and not before the binds of earlier rounds have thinned
// out.
package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/judge"
	"fairlead.dev/fairlead/kube/metrics"
	"fairlead.dev/fairlead/kube/world"
	"fairlead.dev/fairlead/policies"
)

// Options are what a scheduler is made of.
type Options struct {
	Client  kubernetes.Interface
	Config  *config.SchedulerConfiguration
	Metrics *metrics.Metrics
	Clock   clock.Clock
	// Policies are those that profiles may name besides Fairlead's own.
	Policies []policies.Info
	// Holds says until when, by the clock, this replica leads unless it renews its lease, zero if that has no end; its error says why it does not. Nil is
	// always. Whoever was frozen may not have been told yet that its lease ended.
	Holds func() (until time.Time, err error)
	// PodGroups says that the API server serves them in scheduling.k8s.io/v1beta1.
	PodGroups bool
	// CompositePodGroups says that it serves those, in scheduling.k8s.io/v1alpha3.
	CompositePodGroups bool
	// Lacks says why of types that the scheduler reads none is ever seen: the API server does not serve them, or the role may not list them.
	Lacks map[schema.GroupVersionResource]string
	Extensions
	// Programs begins a solver of integer programs, which makes better what the search for pods that constraints bind has left. It is called
	// with the first constraint that counts; nil is none.
	Programs func() Programs
	// Identity names this replica in the events that it writes.
	Identity string
}

// Extensions read objects that not every API server serves; each is nil where it does not.
type Extensions struct {
	// Workloads reads of pods the workload of Kubernetes 1.35 that they name.
	Workloads dynamic.Interface
	// Coscheduling reads the pod groups of the coscheduling plugin.
	Coscheduling dynamic.Interface
	// ServiceClasses reads and judges these.
	ServiceClasses dynamic.Interface
	// WorkloadAccounts reads and writes these.
	WorkloadAccounts dynamic.Interface
	// PlacementConstraints reads and judges these, those of the cluster, and NodeGroups; nil where the API server does not serve all of them.
	PlacementConstraints dynamic.Interface
}

// Scheduler places the pods of its profiles.
type Scheduler struct {
	Options
	intake    *intake
	judge     *judge.Judge
	world     *world.World
	inbox     *inbox
	binder    *binder
	explainer *explainer
	recorders map[string]recorder // by schedulerName
	watchdog  watchdog
	aside     *aside
	subject   subject
	epochs    epochs
	tally     tally
	promises  promises
	began     time.Time
}

// judgeParallelism is how many goroutines one query over all nodes may use.
const judgeParallelism = 4

// New makes a scheduler that has seen nothing yet. The context bounds what
// upstream's plugins run in the background.
func New(ctx context.Context, o Options) (*Scheduler, error) {
	s := &Scheduler{
		Options:   o,
		began:     o.Clock.Now(),
		recorders: map[string]recorder{},
		promises:  promises{changed: make(chan struct{}, 1)},
	}
	s.SetClasses(o.Config.Classes.Table)
	if o.Config.Shadow() {
		s.WorkloadAccounts = nil // which are the other's to write, if anybody's
	}
	s.intake, s.aside = newIntake(s), newAside(s)
	s.epochs = epochs{options: &s.Options, subject: &s.subject, shadow: newShadowing(s)}
	s.epochs.policy = s.epochs.newPolicy
	var err error
	s.judge, err = judge.New(ctx, judge.Options{Client: o.Client, Informers: s.intake.informers, Parallelism: judgeParallelism})
	if err != nil {
		return nil, fmt.Errorf("set up upstream's filters: %w", err)
	}
	s.assemble()
	return s, nil
}

// assemble makes all that a panic in the loop may have left in disorder.
func (s *Scheduler) assemble() {
	o := s.Options
	s.judge.Reset()
	s.inbox, s.epochs.core = newInbox(), nil
	names, prices := map[string]bool{}, map[string]world.Prices{}
	var reputation func(metav1.Time) cluster.Time
	for _, p := range o.Config.Profiles {
		names[p.SchedulerName] = true
		if p.LearnReputation {
			reputation = func(t metav1.Time) cluster.Time { return sinceBegan(s, t.Time) }
		}
		info, err := o.known().Find(p.Policy.Name)
		if err == nil {
			prices[p.SchedulerName] = world.Prices{Nodes: info.PricesNodes, Company: info.PricesCompany}
		}
	}
	var devices []v1.ResourceName
	for _, name := range o.Config.Devices {
		devices = append(devices, v1.ResourceName(name))
	}
	s.world = world.New(s.judge, world.Options{
		Owns:      func(schedulerName string) bool { return names[schedulerName] },
		Devices:   devices,
		Prices:    prices,
		RackLabel: o.Config.RackLabel,
		Backoff: world.Backoff{
			Initial: cluster.Time(o.Config.PodInitialBackoffSeconds) * cluster.Second,
			Max:     cluster.Time(o.Config.PodMaxBackoffSeconds) * cluster.Second,
		},
		Handling: s.subject.handling,
		Times:    timesOf(s), // nothing without WorkloadAccounts
		Shadow:   o.Config.Shadow(),

		Reputation: reputation,

		NoSizes:  cmp.Or(resizesNobody(&o), o.Lacks[Resizes()]),
		NoClaims: o.Lacks[resourcev1.SchemeGroupVersion.WithResource("resourceclaims")],
	})
	if !o.PodGroups {
		s.world.PodGroups().Without(cmp.Or(o.Lacks[schedulingv1beta1.SchemeGroupVersion.WithResource("podgroups")], "the API server served no podgroups of scheduling.k8s.io/v1beta1 when fairlead-scheduler began"))
	}
	if o.Coscheduling != nil {
		s.world.PodGroups().WithCoscheduling()
	}
	if !o.CompositePodGroups {
		s.world.PodGroups().WithoutComposites(cmp.Or(o.Lacks[schedulingv1alpha3.SchemeGroupVersion.WithResource("compositepodgroups")], "they are read with the feature gate CompositePodGroup of fairlead-scheduler, where the API server says when that begins that it serves compositepodgroups of scheduling.k8s.io/v1alpha3"))
	}
	s.promises.taken = s.promises.wanted()
	_, _ = s.world.Promise(s.promises.taken) // before any pod is seen
	s.world.Exits().Allow(evictions(o))
	s.binder = newBinder(s)
	s.explainer = newExplainer(s)
}

// resizesNobody says that a shadow gives pods no other sizes; empty of a scheduler that is none.
func resizesNobody(o *Options) string {
	if o.Config.Shadow() {
		return "a shadow changes no pod"
	}
	return ""
}

// evictions are those that the profiles allow. For pods of default-scheduler those of any other scheduler leave as well, as with kube-scheduler.
func evictions(o Options) map[string]world.Evictions {
	allowed := map[string]world.Evictions{}
	lanes, err := o.lanes()
	if err != nil {
		return allowed // as is said when a core is made of them
	}
	first := len(lanes) - len(o.Config.Profiles)
	for i, p := range o.Config.Profiles {
		lane := first + i
		if !p.Evictions.Enabled {
			continue
		}
		e := world.Evictions{Pace: world.Pace(p.Evictions.Pace), Moves: world.Pace(p.Evictions.Moves), BestEffort: p.Evictions.Budgets == config.BestEffort, ExemptSystem: p.Evictions.ExemptSystem}
		if info, err := o.known().Find(p.Policy.Name); err == nil {
			e.TakesTurns = info.TakesTurns
		}
		if p.SchedulerName == v1.DefaultSchedulerName {
			e.Others = uint8(lane + 1)
		}
		allowed[p.SchedulerName] = e
	}
	return allowed
}

// Start starts the informers and returns at once. A replica that does not lead
// keeps them up to date, so that it can take over without listing again.
func (s *Scheduler) Start(ctx context.Context) {
	s.intake.informers.Start(ctx.Done())
	s.intake.coscheduling.start(ctx)
	s.intake.serviceClasses.start(ctx)
	s.intake.constraints.start(ctx)
	s.intake.autoscalers.start(ctx)
}

// Unlisted are the types of objects that the informers have not listed yet, by name.
func (s *Scheduler) Unlisted() []string {
	return s.intake.unlisted(closed())
}

// closed is a channel that is closed: whoever waits on it asks just once.
func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// Run decides and binds until ctx ends, which is the wish to stop. Only a leader
// calls it. It returns when the binds under way are answered, or after the bind
// timeout. The lease outlives ctx and ends when another may lead: from then on no
// bind and no eviction is sent, and those under way are given up.
func (s *Scheduler) Run(ctx, lease context.Context) error {
	if types := s.intake.unlisted(ctx.Done()); len(types) > 0 {
		return fmt.Errorf("stopped before all %s were listed", types[0])
	}
	if err := s.judge.WaitForSync(ctx); err != nil {
		return fmt.Errorf("stopped before upstream's filters knew all devices: %w", err)
	}
	stopEvents := s.startEvents(ctx)
	defer stopEvents()
	defer s.epochs.tape.end(ctx)
	defer s.epochs.shadow.end(ctx)
	cause := atStart
	for {
		err := s.live(ctx, lease, cause)
		if f := (*fault)(nil); !errors.As(err, &f) {
			return err
		} else if err := s.mend(ctx, f); err != nil {
			return err
		}
		cause = afterPanic
	}
}

// live decides and binds until the context ends, or something panics: that is
// returned as a fault, and the parts are not to be used any more.
func (s *Scheduler) live(ctx, lease context.Context, cause string) error {
	s.world.Advance(s.now())
	// What goes while the survey is taken is heard of afterwards, so the watch
	// comes first.
	unwatch, err := s.intake.watch()
	if err != nil {
		return fmt.Errorf("watch the cluster: %w", err)
	}
	defer unwatch()
	s.binder.begin(lease)
	err = s.guarded(func() error {
		if err := remember(ctx, s); err != nil {
			return err
		}
		s.world.Advance(s.now())
		if err := s.takeOver(ctx, cause); err != nil {
			return err
		}
		return s.loop(ctx)
	})
	openAllRooms(s.binder)
	s.binder.drain(s.Config.BindTimeout.Duration)
	awaitBeside(s, s.Config.BindTimeout.Duration)
	if f := (*fault)(nil); !errors.As(err, &f) {
		for _, answered := range s.inbox.take() { // for its events
			answered()
		}
	}
	s.inbox.close()
	s.explainer.stop(s)
	if f := (*fault)(nil); !errors.As(err, &f) {
		flushAccounts(s)
	}
	klog.FromContext(ctx).Info("stopped deciding", "bindsUnanswered", s.binder.inFlight())
	return err
}

// takeOver begins the first core of a life. The watchdog takes it for a turn of the
// loop.
func (s *Scheduler) takeOver(ctx context.Context, cause string) error {
	defer s.watchdog.watch(s.Clock.Now())()
	s.aside.lives++
	if c := s.intake.serviceClasses; c != nil {
		c.changed = true // a panic may have ended their reading
	}
	s.promise(ctx) // so that the core begins with what was set while another replica led
	if c := s.intake.constraints; c != nil {
		c.changed = true // of a world that a panic has left the next one knows none
		c.constrain(ctx)
	}
	s.intake.survey()
	world.LedgerOf(s.world).Surveyed()
	if err := s.restart(cause); err != nil {
		return err
	}
	s.aside.begin()
	return nil
}

// now is the time since the scheduler was made, as the core counts it.
func (s *Scheduler) now() cluster.Time {
	return cluster.Time(s.Clock.Since(s.began) / time.Microsecond)
}
