package schedtest

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sched"
)

// RunScenarios plays every story in the directory: each file that ends in
// .txt. A story is a list of commands, each with what it must print:
//
//	# Two tasks want the same room; the second waits until the first has ended.
//	policy kube ties=lowest seed=1
//	----
//
//	step t=0
//	node n1 cpu=4
//	job a tasks=2 cpu=3
//	----
//	place a/0 on n1 attempt 1
//	wake never
//
//	why a/1
//	----
//	0 of 1 nodes take it: 1 lack cpu (needs 3, left at most 1)
//
//	step t=5s
//	started a/0
//	ended a/0
//	----
//	place a/1 on n1 attempt 1
//	wake never
//
// The first line is a comment that says what the story shows. A story has at
// most 150 lines. What is printed is rewritten by go test -rewrite; read the
// difference. State.Check holds after each command, or the story fails. So it
// does on an unknown command, event or argument, a plan that no round took and
// a round that was not finished.
//
// # What comes before the first step
//
//	kinds KIND…                          the kinds of the cluster: cpu and memory if it is left out;
//	                                     gpu/4 comes in devices of 4, of which there may be several kinds
//	classes CLASS…                       the classes of tasks, the most important first; silver/0.9 was
//	                                     promised nine tenths of its time, with a margin of 30 s, and
//	                                     may spend the rest on beginning anew; silver/0.9*2 has the level 2 of size
//	policy NAME… [lane=NAME] [user=USER] [heartbeat=TIME] [watchdog=TIME]
//	                                     adds a lane: with user it owns that user's jobs, otherwise all.
//	                                     Its name is the policy's unless lane says otherwise.
//
// NAME and all other arguments of a policy go to the given function, as they
// stand. Two policies are known here: scripted wants what the command plan
// says; plain places tasks in order of submission on the first node that
// admits them. TIME is "1m30s", or a number of seconds.
//
// # Commands
//
//	step t=TIME      what happens, one event a line: applies it, runs every round that is due, and prints
//	                 the decisions, then what went wrong, then when the core wants to be called again
//	observe t=TIME   the same without rounds
//	begin t=TIME [lane=NAME]    begins a round of a lane (the first if left out) on a view of its own
//	run [lane=NAME] [budget=N]  lets its policy plan, for N ticks at most
//	finish t=TIME [lane=NAME]   commits what still holds
//	plan [lane=NAME] [wake=TIME]
//	                 what a scripted policy wants next, one bundle a line:
//	                 evict a/0; place b/0 on n1; place c/0 on n2 with cpu=3; resize d/0 to cpu=4
//	shown [lane=NAME]           what a scripted policy was last told to look at
//	state            draws the cluster (State.Picture)
//	why TASK         why it is not placed
//	explain TASK     how it stands, and the three nodes at most where it costs least
//	account TASK     where its time went
//	open TASK        what has no outcome of the bundles that place or evict it
//	needless         the evictions for which nobody waits any more
//
// Step, observe and finish print besides decisions: "refused 1" bundle,
// "stale 1" event, "orphan 1" run, "without placement 1" eviction, and "error: …" for an event that makes no
// sense.
//
// # Events
//
//	node NAME KIND=N… [label=(KEY:VALUE,…)] [group=(KEY:VALUE,…)] [overcommit=(KIND:FACTOR,…)]
//	change NAME …    the same for a node that is there; what is not named stays
//	lost NAME
//	usage NAME KIND=N…                     measured on the node; 0 of what is not named
//	job NAME tasks=N KIND=N|N..N… [user=USER] [class=CLASS] [priority=N] [apart|per-node=N] [gated] [foreign] [yields=N]
//	      [together] [first-ends] [long-running] [kept] [gang=N] [never-preempts] [stays] [tags=(TAG,…)] [require=(KEY=VALUE,…)]
//	      [prefer=(WEIGHT:KEY=VALUE,…)] [input=(BYTES@NODE+NODE…,…)] [lasts=TIME]
//	                 N tasks: NAME/0, NAME/1, …; more of them if the job is there. Each reads all
//	                 blocks of the input; a node that is not there has no replica. A weight below 0
//	                 is of nodes where they would rather not be. 2..6 is
//	                 a range; of a job with first-ends, the first that finishes ends the others; with lasts it is said how long
//	                 a run works, whatever it then does; of a job with
//	                 gang=N at least so many run, or none is placed; the first lane may evict foreign ones with yields=1
//	change-job NAME [gang=N] [kept] [whole]  how many are placed together, and whether its runs are evicted, or all at once alone, from now on
//	constraint NAME [subject=(TAG,…)] target=(TAG,…) [min=N] [max=N] group=GROUP [self-counted] [soft]
//	                 one bound, which is hard if it is not soft; GROUP is node, or a group of nodes
//	forget-constraint NAME
//	class CLASS [importance=N]             a class that is new, or promises something else from now on;
//	                                       its place in the list is its importance if that is left out
//	forget-class NAME                      no task may have it any more
//	gate TASK…                             it is not to be placed for now
//	ungate TASK…
//	reshape TASK [KIND=N|N..N…] [priority=N] [apart|per-node=N] [require=(KEY=VALUE,…)] [prefer=(WEIGHT:KEY=VALUE,…)]
//	                 another demand or priority, where named; another apart, per-node, require and prefer
//	forget-shape [KIND=N|N..N…] [apart|per-node=N] [require=(KEY=VALUE,…)] [prefer=(WEIGHT:KEY=VALUE,…)]
//	forget-set require=(KEY=VALUE,…)       no shape may name it any more
//	found TASK… on=NODE
//	started TASK… [attempt=N] [on=NODE]    the latest attempt, and its node, if left out
//	refused TASK… [attempt=N]              the bind was refused
//	left TASK… [attempt=N]                 the run is gone, the task is not done
//	stays TASK… [attempt=N]                the eviction was refused
//	budget row=N spare=N                   a budget that guards runs can spare so many of them
//	guarded TASK… row=N                    it guards the latest attempts, and no other does
//	ended TASK…
//	finished TASK…                         the same of one that did all that it had to do
func RunScenarios(t *testing.T, dir string, newPolicy func(name string) (sched.Policy, error)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("%s holds no story", dir)
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
			s := newStory(newPolicy)
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				t.Helper()
				out, err := s.command(d)
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				return out
			})
			if err := s.over(); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		})
	}
}

// maxLines is how long a story may be.
const maxLines = 150

// wellFormed says what is wrong with the form of a story.
func wellFormed(text string) error {
	switch {
	case !strings.HasPrefix(text, "# "):
		return fmt.Errorf("the first line must be a comment that says what the story shows")
	case strings.Count(text, "\n") > maxLines:
		return fmt.Errorf("the story has more than %d lines: make it two", maxLines)
	case !strings.Contains(text, "\n----\n"):
		return fmt.Errorf("the story holds no command")
	}
	return nil
}

// storyLines are the lines of a command's input, without comments.
func storyLines(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if line != "" && !strings.HasPrefix(line, "#") && !yield(line) {
				return
			}
		}
	}
}

// story is a core, and the names of what it knows only by row.
type story struct {
	newPolicy func(name string) (sched.Policy, error)
	kinds     []cluster.Kind
	classes   storyClasses
	lanes     []storyLane
	core      *sched.Core // nil before the first step
	cast
}

// storyLane is a lane and what the story has to know of it.
type storyLane struct {
	sched.Lane
	script *scripted
	round  *sched.Round // in flight
	ran    bool
}

func newStory(newPolicy func(string) (sched.Policy, error)) *story {
	return &story{newPolicy: newPolicy, kinds: []cluster.Kind{{Name: "cpu"}, {Name: "memory"}}, cast: newCast()}
}

// command does one command and returns what it prints.
func (s *story) command(d *datadriven.TestData) (string, error) {
	out, err := s.dispatch(&args{of: d.Cmd, list: d.CmdArgs}, d.Input)
	for i := range s.lanes {
		if script := s.lanes[i].script; err == nil && script != nil {
			err = script.err
		}
	}
	if err == nil && s.core != nil {
		err = s.core.View().Check()
	}
	return out, err
}

func (s *story) dispatch(a *args, input string) (string, error) {
	switch a.of {
	case "kinds", "classes", "policy":
		if s.core != nil {
			return "", fmt.Errorf("%s must come before the first step", a.of)
		}
	case "step", "observe", "begin", "run", "finish", "plan", "shown", "state", "why", "explain", "account", "open", "needless":
		if err := s.open(); err != nil {
			return "", err
		}
	default:
		return "", fmt.Errorf("unknown command %q", a.of)
	}
	switch a.of {
	case "step", "observe", "plan":
	default:
		if input != "" {
			return "", fmt.Errorf("%s takes no input; is a ---- missing?", a.of)
		}
	}
	switch a.of {
	case "kinds":
		return "", s.setKinds(a)
	case "classes":
		return "", s.setClasses(a)
	case "policy":
		return "", s.addPolicy(a)
	case "step", "observe":
		return s.step(a, input)
	case "begin", "run", "finish":
		return s.round(a)
	case "plan":
		return "", s.plan(a, input)
	case "shown":
		return s.shown(a)
	}
	return s.inspect(a)
}

func (s *story) setKinds(a *args) error {
	s.kinds = nil
	for word, ok := a.word(); ok; word, ok = a.word() {
		kind := cluster.Kind{Name: word}
		if name, size, devices := strings.Cut(word, "/"); devices {
			per, err := strconv.ParseInt(size, 10, 64)
			if err != nil || per < 1 {
				return fmt.Errorf("%s: %s, want a kind and the size of its devices", a.of, word)
			}
			kind = cluster.Kind{Name: name, PerUnit: per, Devices: true}
		}
		s.kinds = append(s.kinds, kind)
	}
	return a.done()
}

func (s *story) setClasses(a *args) error {
	for word, ok := a.word(); ok; word, ok = a.word() {
		if err := s.classes.add(word); err != nil {
			return fmt.Errorf("%s: %w", a.of, err)
		}
	}
	return a.done()
}

func (s *story) addPolicy(a *args) error {
	var lane storyLane
	var err error
	if lane.When.Heartbeat, err = a.moment("heartbeat", 0); err != nil {
		return err
	}
	if lane.When.Watchdog, err = a.moment("watchdog", 0); err != nil {
		return err
	}
	lane.Name = a.value("lane")
	if user := a.value("user"); user != "" {
		lane.Owns = func(j *cluster.Job) bool { return j.User == user }
	}
	var words []string
	for _, arg := range a.list {
		words = append(words, arg.String())
	}
	name := strings.Join(words, " ")
	if lane.Name == "" {
		lane.Name = name
	}
	switch {
	case name == "scripted":
		lane.script = &scripted{wake: cluster.Never, names: &s.cast}
		lane.Policy = lane.script
	case name == "plain":
		lane.Policy = &plain{}
	case s.newPolicy == nil:
		return fmt.Errorf("unknown policy %q", name)
	default:
		if lane.Policy, err = s.newPolicy(name); err != nil {
			return err
		}
	}
	s.lanes = append(s.lanes, lane)
	return nil
}

// open makes the core once its lanes are known.
func (s *story) open() error {
	if s.core != nil {
		return nil
	}
	if len(s.lanes) == 0 {
		return fmt.Errorf("the story names no policy")
	}
	var lanes []sched.Lane
	for i := range s.lanes {
		lanes = append(lanes, s.lanes[i].Lane)
	}
	var err error
	s.core, err = sched.New(cluster.NewState(s.kinds, s.classes.first), lanes...)
	return err
}

// over says what the story began and did not end.
func (s *story) over() error {
	for i := range s.lanes {
		lane := &s.lanes[i]
		switch {
		case lane.round != nil:
			return fmt.Errorf("lane %s has a round in flight at the end", lane.Name)
		case lane.script != nil && lane.script.ready:
			return fmt.Errorf("lane %s has a plan at the end that no round took", lane.Name)
		}
	}
	if s.core == nil {
		return fmt.Errorf("the story ends before its first step")
	}
	return nil
}

// lane takes the lane that a command names.
func (s *story) lane(a *args) (int, error) {
	name := a.value("lane")
	for i := range s.lanes {
		if name == "" || s.lanes[i].Name == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%s: there is no lane %q", a.of, name)
}

// time takes the moment of a command.
func (s *story) time(a *args) (cluster.Time, error) {
	t, err := a.moment("t", -1)
	switch {
	case err != nil:
		return 0, err
	case t < 0:
		return 0, fmt.Errorf("%s needs a time, such as t=5s", a.of)
	case t < s.core.View().Now():
		return 0, fmt.Errorf("%s at %v, but it is %v already", a.of, t, s.core.View().Now())
	}
	return t, a.done()
}

func (s *story) step(a *args, input string) (string, error) {
	now, err := s.time(a)
	if err != nil {
		return "", err
	}
	var events []cluster.Event
	for line := range storyLines(input) {
		if events, err = s.event(line, events); err != nil {
			return "", fmt.Errorf("%q: %w", line, err)
		}
	}
	before := s.core.Counts()
	var out []sched.Decision
	if a.of == "step" {
		out, _, err = s.core.Step(now, events, nil)
	} else {
		out, err = s.core.Observe(now, events, nil)
	}
	s.forgot(events, err)
	return s.report(now, out, err, before), nil
}

func (s *story) round(a *args) (string, error) {
	i, err := s.lane(a)
	if err != nil {
		return "", err
	}
	lane := &s.lanes[i]
	if a.of == "run" {
		if lane.round == nil || lane.ran {
			return "", fmt.Errorf("lane %s has no round that could run", lane.Name)
		}
		budget, err := a.integer("budget", 0)
		if err != nil {
			return "", err
		}
		lane.round.Run(budget)
		lane.ran = true
		return "", a.done()
	}
	now, err := s.time(a)
	if err != nil {
		return "", err
	}
	if a.of == "begin" {
		if lane.round != nil {
			return "", fmt.Errorf("lane %s has a round in flight", lane.Name)
		}
		lane.round, lane.ran = s.core.Begin(i, now), false
		return "", nil
	}
	if !lane.ran || lane.round == nil {
		return "", fmt.Errorf("lane %s has no round that has run", lane.Name)
	}
	before := s.core.Counts()
	out := s.core.Finish(lane.round, now, nil)
	lane.round = nil
	return s.report(now, out, nil, before), nil
}

// report prints what came of a step.
func (s *story) report(now cluster.Time, decisions []sched.Decision, wrong error, before sched.Counts) string {
	var b strings.Builder
	for _, d := range decisions {
		fmt.Fprintln(&b, s.decision(d)+s.grantOf(d))
	}
	after := s.core.Counts()
	for _, count := range []struct {
		what string
		n    int64
	}{{"refused", after.Refused - before.Refused}, {"stale", after.Stale - before.Stale}, {"orphan", after.Orphans - before.Orphans}, {"without placement", after.WithoutPlacement - before.WithoutPlacement}} {
		if count.n > 0 {
			fmt.Fprintf(&b, "%s %d\n", count.what, count.n)
		}
	}
	if wrong != nil {
		for line := range strings.Lines(wrong.Error()) {
			fmt.Fprintln(&b, "error: "+strings.TrimSpace(line))
		}
	}
	fmt.Fprintf(&b, "wake %v\n", s.core.Wake(now))
	return b.String()
}

func (s *story) script(a *args) (*scripted, error) {
	i, err := s.lane(a)
	if err != nil {
		return nil, err
	}
	if s.lanes[i].script == nil {
		return nil, fmt.Errorf("%s: the policy of lane %s is not scripted", a.of, s.lanes[i].Name)
	}
	return s.lanes[i].script, nil
}

func (s *story) plan(a *args, input string) error {
	script, err := s.script(a)
	if err != nil {
		return err
	}
	if script.ready {
		return fmt.Errorf("no round took the last plan")
	}
	if script.wake, err = a.moment("wake", cluster.Never); err != nil {
		return err
	}
	if script.bundles, err = parsePlan(input); err != nil {
		return err
	}
	script.ready = true
	return a.done()
}

func (s *story) shown(a *args) (string, error) {
	script, err := s.script(a)
	if err != nil {
		return "", err
	}
	var words []string
	if script.shown.All {
		words = append(words, "all:")
	}
	for _, n := range script.shown.Nodes {
		words = append(words, s.nodeName(n))
	}
	for _, t := range script.shown.Tasks {
		words = append(words, s.taskInRow(t))
	}
	for _, m := range script.shown.Members {
		words = append(words, s.sets[m.Set-1].text+":"+s.nodeName(m.Node))
	}
	for _, id := range script.shown.Constrained {
		words = append(words, fmt.Sprintf("constrained:%d", id))
	}
	if len(words) == 0 {
		words = append(words, "nothing")
	}
	return strings.Join(words, " ") + "\n", a.done()
}

// inspect answers the commands that look and change nothing.
func (s *story) inspect(a *args) (string, error) {
	switch a.of {
	case "state":
		return s.picture(), a.done()
	case "needless":
		all := func(sched.Decision) bool { return true }
		return s.ledger(s.core.Ledger().Needless(s.core.View(), all, nil)), a.done()
	}
	name, err := a.name()
	if err != nil {
		return "", err
	}
	task, err := s.live(name)
	if err != nil {
		return "", err
	}
	switch a.of {
	case "why":
		return s.core.Why(task.row).Text(s.kinds) + "\n", a.done()
	case "explain":
		text, err := explained(s.core, task.row)
		return text, errors.Join(err, a.done())
	case "open":
		return s.ledger(s.core.Ledger().Open(task.row, nil)), a.done()
	}
	row := s.core.View().Task(task.row)
	account := row.Account.At(s.core.View().Now(), row.Phase)
	return fmt.Sprintf("waiting %v, overhead %v, running %v, first run %v\n", account.Waiting, account.Overhead, account.Running, account.FirstRun), a.done()
}

// explained prints an explanation.
func explained(core *sched.Core, t cluster.TaskID) (string, error) {
	x, explains, err := sched.ExplainTask(core, t, 3)
	if err != nil || !explains {
		return "", err
	}
	var text strings.Builder
	for _, sentence := range x.Standing {
		text.WriteString(sentence + "\n")
	}
	for _, c := range x.Candidates {
		fmt.Fprintf(&text, "%s %d:", core.View().NodeSpec(c.Node).Name, c.Cost)
		for _, term := range c.Terms {
			fmt.Fprintf(&text, " %d for %s;", term.Cost, term.Name)
		}
		text.WriteString("\n")
	}
	text.WriteString(x.Others.Text(core.View().Kinds()) + "\n")
	return text.String(), nil
}
