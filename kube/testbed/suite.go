package testbed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// Upstream's end-to-end tests of the scheduler judge whoever serves the cluster's default-scheduler. They are a module of their own
// (testbed/suites), built on demand into the folder of the other programs: 1,400 packages that nothing else here needs.

// suiteFolder is where their module is.
const suiteFolder = "testbed/suites"

// BuildSuite compiles what is not there yet: the programs of Build, and the suite. It returns the path of the suite's program.
func BuildSuite(ctx context.Context, log io.Writer) (program string, err error) {
	name := func(s source) (string, error) {
		return s.versioned("suite", suiteFolder, "go.mod", "scheduling_test.go")
	}
	return onDemand(ctx, log, "upstream's suite of tests", name, func(s source, to string) error {
		flags, err := s.linkerFlags(ctx)
		if err != nil {
			return err
		}
		// Not vetted: that looks at all 2,000 packages, which are not ours.
		return s.compile(ctx, log, suiteFolder, "test", "-c", "-vet=off", "-ldflags", flags, "-o", to, ".")
	})
}

// Verdict is what became of one test of the suite.
type Verdict struct {
	Test    string
	State   string // passed, failed, skipped, and other words of Ginkgo's; or LeftOut
	Message string // why it failed, or was skipped
	Took    time.Duration
}

// LeftOut is the state of a test that does not apply to the bed, and the message is why: GateOff.
const LeftOut = "left out"

// GateOff is the only reason why one is left out: a feature gate that it needs is off by default, and not on here. A test that skips itself is
// none of these, and has to be looked at.
const GateOff = "it needs a feature gate that is off by default"

// offByDefault is the label of tests that need such a gate.
const offByDefault = "Feature:OffByDefault"

// Failed reports whether the test ran, and did not pass.
func (v Verdict) Failed() bool {
	return v.State != "passed" && v.State != "skipped" && v.State != "pending" && v.State != LeftOut
}

// SuiteOptions say which tests run.
type SuiteOptions struct {
	Program string // of BuildSuite
	Focus   string // a regular expression of their names; empty: all
	Labels  string // which labels they have, in Ginkgo's language; empty: all
	Seed    int64  // of the order in which they run
	Name    string // of its process and its log
}

// RunSuite runs the tests one after the other, as the administrator of the bed, and returns what became of those that were selected.
func RunSuite(ctx context.Context, b *Bed, o SuiteOptions) ([]Verdict, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client, err := b.Client(Admin)
	if err != nil {
		return nil, err
	}
	go actAsKubelets(ctx, client)
	report := b.path(o.Name + ".json")
	args := []string{
		"-test.timeout=0", "-ginkgo.timeout=3h", "-ginkgo.no-color", "-ginkgo.json-report=" + report,
		"-kubeconfig=" + b.Kubeconfig(Admin), "-provider=skeleton", "-prepull-images=false", "-dump-logs-on-failure=false", "-disable-log-dump=true",
		fmt.Sprintf("-ginkgo.seed=%d", o.Seed),
	}
	if o.Focus != "" {
		args = append(args, "-ginkgo.focus="+o.Focus)
	}
	if o.Labels != "" {
		args = append(args, "-ginkgo.label-filter="+o.Labels)
	}
	p, err := b.run(o.Name, o.Program, args...)
	if err != nil {
		return nil, err
	}
	p.stopping.Store(true) // however it ends, its report says what is wrong
	for ended := false; !ended; {
		select {
		case <-p.done:
			ended = true
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(time.Second):
			if err := b.Err(); err != nil {
				return nil, err
			}
		}
	}
	text, err := os.ReadFile(report)
	if err != nil {
		return nil, fmt.Errorf("test bed: %s left no report (%s): %w\n%s", o.Name, p.command.ProcessState, err, p.tail())
	}
	list, err := verdicts(text)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("test bed: %s ran no test\n%s", o.Name, p.tail())
	}
	return list, err
}

// verdicts reads a report of Ginkgo's. Its error is also of what failed around the tests.
func verdicts(text []byte) (list []Verdict, err error) {
	var suites []struct {
		SpecReports []struct {
			ContainerHierarchyTexts    []string
			ContainerHierarchyLabels   [][]string
			LeafNodeLabels             []string
			LeafNodeType, LeafNodeText string
			State                      string
			RunTime                    time.Duration
			Failure                    struct{ Message string }
		}
	}
	if err := json.Unmarshal(text, &suites); err != nil {
		return nil, fmt.Errorf("test bed: read the report of the suite: %w", err)
	}
	for _, suite := range suites {
		for _, r := range suite.SpecReports {
			name := strings.Join(append(slices.Clone(r.ContainerHierarchyTexts), r.LeafNodeText), " ")
			switch {
			case r.LeafNodeType != "It" && (Verdict{State: r.State}).Failed():
				err = errors.Join(err, fmt.Errorf("test bed: the suite %s in %s: %s", r.State, r.LeafNodeType, r.Failure.Message))
				continue
			case r.LeafNodeType != "It":
				continue
			case r.State == "skipped" && r.Failure.Message == "": // it was not selected
				if !slices.Contains(slices.Concat(append(r.ContainerHierarchyLabels, r.LeafNodeLabels)...), offByDefault) {
					continue
				}
				r.State, r.Failure.Message = LeftOut, GateOff
			}
			list = append(list, Verdict{strings.TrimSpace(name), r.State, r.Failure.Message, r.RunTime})
		}
	}
	slices.SortFunc(list, func(a, b Verdict) int { return strings.Compare(a.Test, b.Test) })
	return list, err
}
