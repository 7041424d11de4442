package world

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	promises "fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/cluster"
	promised "fairlead.dev/fairlead/kube/classes"
)

// This file tells the stories in testdata. A story is a series of turns; what
// is seen before a turn is its input, a line each:
//
//	step [t=SECONDS]     takes in the lines and does a turn; prints what was decided and what not
//	policy NAME [at-once=N] [per-minute=N] [migrations=N] [budgets=best-effort] [others=yield] [prices=nodes] [exempt=system]     before the first step: another policy than kube; with
//	                     numbers, pods may be evicted
//	constraints          prints each constraint, how many pods it binds, and for how many it does not hold
//	classes PRESET       before the first step: what is promised to whom
//	accounts             prints the class of each pod and vacant slot, and how its time was spent
//	state                prints where pods, slots and columns stand
//	why POD              prints kube-scheduler's message for the pod
//	reason POD           prints the core's reason for the pod, which waits
//
// The lines: node and pod as in make_test.go, and
//
//	budget B [app=APP] [spare=N], lost-budget B     a PodDisruptionBudget of the pods with that label, which can spare so many
//	group G [least=N] [priority=N] [all] [topology=KEY] [parent=GROUP], lost-group G     a pod group, of which at least N pods are placed together
//	plugin coscheduling  from now on groups of the coscheduling plugin are seen
//	plugin-group G [least=N], lost-plugin-group G     such a group
//	composite C [least=N] [priority=N] [preempts=POLICY] [all] [topology=KEY] [parent=C], lost-composite C     a composite pod group, of which at least N parts are placed together, or any
//	constrain [NAMESPACE/]NAME TEXT, unconstrain [NAMESPACE/]NAME     an object that says so, of the cluster without a namespace
//	node-group G SET=SELECTOR …, lost-node-group G     a NodeGroup with these sets of nodes
//	service S [app=APP], lost-service S     a Service that selects the pods with that label
//	change POD …         the pod as it was before, with these arguments added
//	again POD            the same event once more
//	lost-node NODE, lost POD, done POD, failed-pod POD
//	started POD, failed POD, seen POD      what became of a bind: the API server's answers, or the pod itself
//	unsent POD           its bind, when it is decided, is not sent before the next turn
//	goes POD, stays POD  what became of a request to evict: the pod is deleted, or not
//	volume V on=ZONE claim=C, claim C class=K [volume=V] [mode=…] [owner=POD], class K, device C [on=NODE] [one] [has=DEVICE] [for=POD]: a claim; of one device, or that a pod has
//	offer NODE [devices=N], given-back C     the node has so many devices; such a claim has none any more
//	mark-dirty           the volumes' informers have seen something
//	restart              a new core

func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("testdata holds no story")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := wellFormed(string(text)); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			s := newStory(t)
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				t.Helper()
				out, err := s.command(d)
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				return out
			})
		})
	}
}

// maxLines is how long a story may be.
const maxLines = 150

func wellFormed(text string) error {
	switch {
	case !strings.HasPrefix(text, "# "):
		return fmt.Errorf("the first line must be a comment that says what the story shows")
	case strings.Count(text, "\n") > maxLines:
		return fmt.Errorf("the story has more than %d lines: tell two", maxLines)
	case !strings.Contains(text, "\n----\n"):
		return fmt.Errorf("the story holds no command")
	}
	return nil
}

type story struct {
	*rig
	lines map[string]string // what a pod was last made of
	sent  map[string]flight // the last bind of each pod, also of one that is gone
	slow  map[string]bool   // pods whose binds are not sent
}

func newStory(tb testing.TB) *story {
	tb.Helper()
	s := &story{rig: newRig(tb, newBench(tb, makeNamespace("default", "red"))), lines: map[string]string{}, sent: map[string]flight{}, slow: map[string]bool{}}
	s.callBack = func(p *Pod) bool { return s.slow[p.object.Name] }
	return s
}

func (s *story) command(d *datadriven.TestData) (string, error) {
	if d.Input != "" && d.Cmd != "step" {
		return "", fmt.Errorf("%s takes no input; is a ---- missing?", d.Cmd)
	}
	l := &line{of: d.Cmd, list: d.CmdArgs}
	switch d.Cmd {
	case "step":
		return s.step(l, d.Input)
	case "policy":
		return "", s.choose(l)
	case "state":
		return s.state(), l.done()
	case "classes":
		return "", s.promise(l)
	case "constraints":
		return s.constraints(), l.done()
	case "classes-known":
		return s.classesKnown(), l.done()
	case "accounts":
		return s.accounted(), l.done()
	case "why", "reason":
		if len(l.list) != 1 {
			return "", fmt.Errorf("%s takes the name of a pod", d.Cmd)
		}
		p := s.world.Pod(types.UID("uid-" + l.list[0].Key))
		if p == nil {
			return "", fmt.Errorf("%s %s: no such pod", d.Cmd, l.list[0].Key)
		}
		if d.Cmd == "reason" {
			return s.core.Why(p.slot.task).Text(s.world.Columns().Meanings()), nil
		}
		if fit := s.judge.Diagnose(p.object); fit != nil {
			return fit.Error(), nil
		}
		return "some node would take it", nil
	}
	return "", fmt.Errorf("unknown command %q", d.Cmd)
}

// choose begins with another policy.
func (s *story) choose(l *line) error {
	if len(l.list) == 0 {
		return fmt.Errorf("policy takes a name")
	}
	s.policy, l.list = l.list[0].Key, l.list[1:]
	var e Evictions
	for key, into := range map[string]*int{"at-once": &e.AtOnce, "per-minute": &e.PerMinute, "migrations": &s.options.Migrations} {
		if _, err := fmt.Sscan(l.one(key, "0"), into); err != nil {
			return err
		}
	}
	if s.others = l.one("others", "stay") == "yield"; s.others {
		e.Others = 1
	}
	e.BestEffort = l.one("budgets", "hard") == "best-effort"
	e.ExemptSystem = l.one("exempt", "") == "system"
	if l.one("prices", "") == "nodes" {
		s.world.shapes.prices = func(string) Prices { return Prices{Nodes: true} }
	}
	if e.Moves = e.Pace; e.AtOnce > 0 {
		s.world.Exits().Allow(map[string]Evictions{ours: e})
	}
	s.restart()
	return l.done()
}

// promise begins with a table of classes.
func (s *story) promise(l *line) error {
	if len(l.list) != 1 {
		return fmt.Errorf("classes takes a name")
	}
	table, err := promises.Load(l.list[0].Key)
	if err != nil {
		return err
	}
	s.world.Promise(promised.Open(table))
	s.restart()
	return nil
}

// promiseAnew changes the table of classes under way.
func (s *story) promiseAnew(name string) error {
	table, err := promises.Load(name)
	if err != nil {
		return err
	}
	if _, ok := s.world.Promise(promised.Open(table)); !ok {
		err = fmt.Errorf("the core has no rows for so many classes")
	}
	return err
}

// classesKnown prints the classes of the core by row.
func (s *story) classesKnown() string {
	var out strings.Builder
	for row, class := range s.core.View().Classes() {
		if s.core.View().ClassLive(cluster.ClassID(row)) {
			fmt.Fprintf(&out, "%d: %s %v\n", row, class.Name, class.Availability)
		} else {
			fmt.Fprintf(&out, "%d: free\n", row)
		}
	}
	return out.String()
}

// accounted prints how slots have spent their time.
func (s *story) accounted() string {
	var out strings.Builder
	printSlot := func(name string, of *slot) {
		task := *s.core.View().Task(of.task)
		a := task.Account.At(s.now, task.Phase)
		fmt.Fprintf(&out, "%s: %s, slot %d, waited %v, was starting or leaving %v, ran %v\n", name, s.core.View().Classes()[task.Class].Name, of.seq, a.Waiting, a.Overhead, a.Running)
	}
	for _, p := range inOrder(s.world.pods.byUID) {
		if p.slot != nil {
			printSlot(p.object.Name, p.slot)
		}
	}
	for _, v := range s.world.slots.vacant {
		if v.slot.pod == nil && v.slot.until == v.until {
			printSlot("vacant", v.slot)
		}
	}
	return out.String()
}

func (s *story) step(l *line, input string) (string, error) {
	var seconds float64
	if _, err := fmt.Sscan(l.one("t", "-1"), &seconds); err != nil {
		return "", err
	}
	s.now = max(s.now, cluster.Time(seconds*float64(cluster.Second)))
	if err := l.done(); err != nil {
		return "", err
	}
	s.world.Advance(s.now)
	for text := range strings.Lines(input) {
		if text = strings.TrimSpace(text); text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		if err := s.happen(text); err != nil {
			return "", fmt.Errorf("%s: %w", text, err)
		}
	}
	return s.report(s.turn()), nil
}

// report prints what a turn came to.
func (s *story) report(v verdict) string {
	var out strings.Builder
	if v.newCore != "" {
		fmt.Fprintf(&out, "new core: %s\n", v.newCore)
	}
	for _, f := range v.accepted {
		s.sent[f.pod.object.Name] = f
		fmt.Fprintf(&out, "%s -> %s\n", f.pod.object.Name, f.node)
	}
	for _, r := range v.refused {
		fmt.Fprintf(&out, "%s not on %s, %s\n", r.pod.object.Name, r.node, words(r.status))
	}
	for _, p := range v.takenBack {
		fmt.Fprintf(&out, "%s is decided again, with the others of its group\n", p.object.Name)
	}
	for _, p := range v.back {
		fmt.Fprintf(&out, "%s is called back from %s\n", p.object.Name, p.Node())
	}
	for _, p := range v.freed {
		fmt.Fprintf(&out, "%s is called back from %s for another\n", p.object.Name, p.Node())
	}
	for _, p := range v.asked {
		fmt.Fprintf(&out, "%s is asked to leave %s\n", p.object.Name, p.Node())
	}
	for _, p := range v.unplaced {
		message := "some node would take it"
		if fit := s.judge.Diagnose(p.object); fit != nil {
			message = fit.Error()
		}
		fmt.Fprintf(&out, "%s unplaced: %s\n", p.object.Name, message)
	}
	return out.String()
}

// state prints where everything stands.
func (s *story) state() string {
	var out strings.Builder
	for _, p := range inOrder(s.world.pods.byUID) {
		fmt.Fprintf(&out, "%s: %s", p.object.Name, p.Stage)
		if !p.Ours {
			out.WriteString(", somebody else's")
		}
		if p.node != nil {
			fmt.Fprintf(&out, " on %s", p.Node())
		}
		switch task := s.task(p); {
		case task.Phase == cluster.Reserved:
			fmt.Fprintf(&out, " for %s", s.world.nodes.byRow[task.Node].object.Name)
		case p.exit.leaving || p.exit.ending:
			out.WriteString(", leaving")
		case p.exit.protectedUntil > s.now:
			fmt.Fprintf(&out, ", protected until %v: %s", p.exit.protectedUntil, task.Protection().Reason)
		}
		if p.slot != nil {
			fmt.Fprintf(&out, ", slot %d", p.slot.seq)
		}
		if p.Why != "" {
			fmt.Fprintf(&out, ": %s", p.Why)
		}
		out.WriteString("\n")
	}
	for _, v := range s.world.slots.vacant {
		if v.slot.pod == nil && v.slot.until == v.until {
			fmt.Fprintf(&out, "slot %d: vacant until %v\n", v.slot.seq, v.until)
		}
	}
	spare := len(s.world.columns.columns) - s.world.columns.named
	fmt.Fprintf(&out, "%d columns, %d of %d spare columns in use\n", len(s.world.columns.list), spare-s.world.columns.idle, spare)
	return out.String()
}

// task is the pod's in the core.
func (s *story) task(p *Pod) cluster.Task {
	if p.slot == nil {
		return cluster.Task{}
	}
	return *s.core.View().Task(p.slot.task)
}

// happen reports a line to the world.
func (s *story) happen(text string) error {
	if of, is := strings.CutPrefix(text, "constrain "); is {
		name, words, _ := strings.Cut(of, " ")
		return s.constrain(name, words)
	}
	l, err := parse(text)
	if err != nil {
		return err
	}
	switch alone := l.name == ""; {
	case alone && l.of == "mark-dirty":
		s.world.MarkDirty()
		return l.done()
	case alone && l.of == "restart":
		s.restart()
		return l.done()
	case alone:
		return fmt.Errorf("of what?")
	}
	switch l.of {
	case "node":
		node, err := makeNode(l)
		if err != nil {
			return err
		}
		s.seeNode(node)
		return nil
	case "unconstrain":
		return s.constrain(l.name, "")
	case "node-group", "lost-node-group":
		sets := map[string]string{}
		for _, arg := range l.list {
			sets[arg.Key] = strings.Join(arg.Vals, ",")
		}
		return s.divide(l.name, sets)
	case "lost-node":
		s.loseNode(l.name)
		return l.done()
	case "group":
		g, err := makeGroup(l)
		if err != nil {
			return err
		}
		s.seeGroup(g)
		return nil
	case "plugin":
		s.world.PodGroups().WithCoscheduling()
		return nil
	case "plugin-group":
		var least int32
		if _, err := fmt.Sscan(l.one("least", "0"), &least); err != nil {
			return err
		}
		s.world.PodGroups().SeeCoscheduling("default", l.name, least)
		return l.done()
	case "lost-plugin-group":
		s.world.PodGroups().LoseCoscheduling("default", l.name)
		return l.done()
	case "composite":
		c, err := makeComposite(l)
		if err != nil {
			return err
		}
		s.seeComposite(c)
		return nil
	case "lost-composite":
		s.loseComposite(l.name)
		return l.done()
	case "service", "lost-service":
		o, err := makeService(l)
		if err != nil {
			return err
		}
		map[string]func(*World, *v1.Service){"service": SeeService, "lost-service": LoseService}[l.of](s.world, o)
		return nil
	case "budget":
		var spare int32
		if _, err := fmt.Sscan(l.one("spare", "0"), &spare); err != nil {
			return err
		}
		s.seeBudget(makeBudget(l.name, l.one("app", ""), spare))
		return l.done()
	case "lost-budget":
		s.loseBudget(l.name)
		return l.done()
	case "left-for-nobody":
		var pods int64
		if _, err := fmt.Sscan(l.name, &pods); err != nil {
			return err
		}
		s.world.Exits().Storm().LeftForNobody(pods, s.world.journal.now)
		return l.done()
	case "lost-group":
		s.loseGroup(l.name)
		return l.done()
	case "pod":
		return s.emit(text)
	case "classes":
		return s.promiseAnew(l.name)
	case "volume", "claim", "class", "device", "drivers", "attached":
		return s.store(l)
	case "offer":
		return s.offer(l)
	case "given-back":
		s.write(s.tb, oneDevice(l.name))
		return l.done()
	}
	return s.happenToPod(l, text)
}

func (s *story) happenToPod(l *line, text string) error {
	uid := types.UID("uid-" + l.name)
	if l.of != "started" && l.of != "failed" && s.pods[uid] == nil {
		return fmt.Errorf("no such pod, or an unknown line")
	}
	switch l.of {
	case "unsent":
		s.slow[l.name] = true
		return l.done()
	case "change":
		_, added, _ := strings.Cut(text, l.name)
		return s.emit(s.lines[l.name] + added)
	case "again":
		s.world.SeePod(s.pods[uid])
		return l.done()
	case "lost":
		s.losePod(uid)
		return l.done()
	case "done", "failed-pod":
		pod := s.pods[uid].DeepCopy()
		pod.Status.Phase = map[string]v1.PodPhase{"done": v1.PodSucceeded, "failed-pod": v1.PodFailed}[l.of]
		s.seePod(pod)
		return l.done()
	}
	if l.of == "goes" || l.of == "stays" {
		at := slices.IndexFunc(s.leaving, func(p *Pod) bool { return p.object.Name == l.name })
		if at < 0 {
			return fmt.Errorf("the pod was not asked to leave")
		}
		map[string]func(*Pod){"goes": s.granted, "stays": s.stays}[l.of](s.leaving[at])
		return l.done()
	}
	f, out := s.sent[l.name]
	if !out {
		return fmt.Errorf("unknown line, or no bind of the pod was sent")
	}
	switch l.of {
	case "started":
		s.started(f)
	case "failed":
		s.failed(f)
	case "seen":
		s.arrived(f)
	default:
		return fmt.Errorf("unknown line")
	}
	return l.done()
}

// emit makes the pod and reports it. A pod with a version of its own is reported
// as it is, like an event that comes late.
func (s *story) emit(text string) error {
	l, err := parse(text)
	if err != nil {
		return err
	}
	pod, err := makePod(l)
	if err != nil {
		return err
	}
	if pod.ResourceVersion != "" {
		s.world.SeePod(pod)
		return nil
	}
	s.lines[pod.Name] = text
	s.seePod(pod)
	return nil
}
