package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// This file runs tests on mutants. The tests of a package are first run as it is: they must
// pass, and how long each took says which to run first. Of each mutant a test binary is
// compiled, which is run in the package's folder, first with the tests that take no time and,
// if these pass, with the others.

// verdict is what became of a mutant.
type verdict uint8

const (
	notRun verdict = iota
	killed
	survived
)

// tester runs the tests.
type tester struct {
	dir      string // for what is compiled
	deadline time.Time
	least    time.Duration // that a suite is given for a mutant, however fast it is
	log      io.Writer
	mu       sync.Mutex // guards log, failed and serial
	failed   error
	serial   int
}

// suite is the tests of one folder.
type suite struct {
	target target
	folder string   // of the tests, from the module's
	flags  []string // besides those that all have
	quick  string   // a regular expression for -run: tests that take no time; empty if there are none
	slow   string   // the same for all others
	limit  time.Duration
}

// quickTest is how long a test may take that runs before the others. A suite that takes slower times
// what it took on the package as it is has no end.
const (
	quickTest = 200 * time.Millisecond
	slower    = 5
)

// mostMemory is what a test may take, in KiB of addresses: a loop without end may append.
const mostMemory = 12 << 20

// judge runs the tests on all mutants, those of all targets in turn, and sets their verdicts.
func (t *tester) judge(ctx context.Context, targets []target, all []*mutant, workers int) error {
	suites, err := t.baselines(ctx, targets, all, workers)
	if err != nil {
		return err
	}
	queue := make(chan *mutant)
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for m := range queue {
				t.try(ctx, m, suites[m.of.target.String()])
			}
		})
	}
	for _, m := range inTurn(all) {
		if ctx.Err() != nil || time.Now().After(t.deadline) {
			break
		}
		queue <- m
	}
	close(queue)
	wait.Wait()
	return errors.Join(t.failed, ctx.Err())
}

// baselines runs the tests on all packages as they are, by target; so many at a time as mutants are
// run later, so that how long they take is what they take then.
func (t *tester) baselines(ctx context.Context, targets []target, all []*mutant, workers int) (map[string][]suite, error) {
	suites, errs := map[string][]suite{}, make([]error, len(targets))
	places := make(chan struct{}, workers)
	var wait sync.WaitGroup
	for i, target := range slices.Backward(targets) { // those that take the longest are the last
		rapid := slices.ContainsFunc(all, func(m *mutant) bool { return m.of.target.String() == target.String() && m.of.rapid })
		folders := append([]string{target.name}, target.beside...)
		list := make([]suite, len(folders))
		suites[target.String()] = list
		places <- struct{}{}
		wait.Go(func() {
			defer func() { <-places }()
			for at, folder := range folders {
				if list[at], errs[i] = t.baseline(ctx, target, folder, rapid && folder == target.name); errs[i] != nil {
					errs[i] = fmt.Errorf("%s: the tests of %s do not pass as it is: %w", target, folder, errs[i])
					return
				}
			}
		})
	}
	wait.Wait()
	return suites, errors.Join(errs...)
}

// inTurn takes a mutant of each package in turn, so that a run that ends early has some of each.
func inTurn(all []*mutant) []*mutant {
	var order []*mutant
	rounds := map[string][]*mutant{}
	most := 0
	for _, m := range all {
		name := m.of.target.String()
		rounds[name] = append(rounds[name], m)
		most = max(most, len(rounds[name]))
	}
	for i := range most {
		done := map[string]bool{}
		for _, m := range all {
			if name := m.of.target.String(); !done[name] && i < len(rounds[name]) {
				done[name] = true
				order = append(order, rounds[name][i])
			}
		}
	}
	return order
}

// try runs the suites on a mutant until one fails.
func (t *tester) try(ctx context.Context, m *mutant, suites []suite) {
	start := time.Now()
	dir, overlay, err := t.lay(m)
	if err == nil {
		defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
		m.verdict, err = t.runAll(ctx, dir, overlay, suites)
	}
	if ctx.Err() != nil {
		m.verdict = notRun
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.failed = errors.Join(t.failed, fmt.Errorf("%s:%d, %s: %w", m.path(), m.line, m.operator, err))
		return
	}
	t.serial++
	fmt.Fprintf(t.log, "%4d  %-8s  %5.1f s  %s:%d, %s: %s\n", t.serial, m.verdict, time.Since(start).Seconds(), m.path(), m.line, m.operator, m.is)
}

// lay writes the changed file to a folder, and an overlay that puts it in the place of the true one.
func (t *tester) lay(m *mutant) (dir, overlay string, err error) {
	dir, err = os.MkdirTemp(t.dir, "")
	if err != nil {
		return "", "", err
	}
	file, overlay := filepath.Join(dir, m.file.name), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, m.text(), 0o600); err != nil {
		return "", "", err
	}
	original, err := filepath.Abs(filepath.Join(m.of.folder(), m.file.name))
	if err != nil {
		return "", "", err
	}
	data, err := json.Marshal(map[string]map[string]string{"Replace": {original: file}})
	if err != nil {
		return "", "", err
	}
	return dir, overlay, os.WriteFile(overlay, data, 0o600)
}

// runAll runs the suites in turn, and in each the quick tests first.
func (t *tester) runAll(ctx context.Context, dir, overlay string, suites []suite) (verdict, error) {
	for i, s := range suites {
		binary := filepath.Join(dir, fmt.Sprint("test", i))
		if err := s.compile(ctx, binary, "-overlay", overlay); err != nil {
			return notRun, fmt.Errorf("does not compile, which it should: %w", err)
		}
		for _, tests := range []string{s.quick, s.slow} {
			if tests == "" {
				continue
			}
			if _, err := s.run(ctx, binary, "-test.failfast", "-test.run", tests); err != nil {
				return killed, nil //nolint:nilerr // this is what the tests are for
			}
		}
	}
	return survived, nil
}

// baseline runs the tests on the package as it is.
func (t *tester) baseline(ctx context.Context, of target, folder string, rapid bool) (suite, error) {
	s := suite{target: of, folder: folder, limit: time.Hour}
	if rapid {
		s.flags = []string{"-rapid.seed=1"}
	}
	dir, err := os.MkdirTemp(t.dir, "")
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	binary := filepath.Join(dir, "baseline")
	if err := s.compile(ctx, binary); err != nil {
		return s, err
	}
	start := time.Now()
	out, err := s.run(ctx, binary, "-test.v")
	if err != nil {
		return s, fmt.Errorf("%w\n%s", err, out)
	}
	took := time.Since(start)
	s.limit = max(t.least, slower*took)
	var quick, slow []string
	for name, took := range times(out) {
		if took <= quickTest {
			quick = append(quick, name)
		} else {
			slow = append(slow, name)
		}
	}
	s.quick, s.slow = anyOf(quick), anyOf(slow)
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.log, "%s: %d tests pass in %.1f s, %d of them at once\n", filepath.ToSlash(filepath.Join(of.module, folder)), len(quick)+len(slow), took.Seconds(), len(quick))
	if len(quick)+len(slow) == 0 {
		return s, errors.New("there are none")
	}
	return s, nil
}

// times are how long tests took, by their names: a test takes as long as its longest subtest at least, as those
// that run beside each other are not in its own time.
func times(out []byte) map[string]time.Duration {
	all := map[string]time.Duration{}
	for _, match := range regexp.MustCompile(`(?m)^ *--- PASS: ([^\s/]+)\S* \((\d+\.\d+)s\)$`).FindAllSubmatch(out, -1) {
		name := string(match[1])
		seconds, _ := strconv.ParseFloat(string(match[2]), 64)
		all[name] = max(all[name], time.Duration(seconds*float64(time.Second)))
	}
	return all
}

// anyOf is a regular expression that matches these tests alone.
func anyOf(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// compile makes a test binary of the suite.
func (s *suite) compile(ctx context.Context, binary string, flags ...string) error {
	args := append(append([]string{"test", "-c", "-o", binary}, flags...), "./"+filepath.ToSlash(s.folder))
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // a package of ours
	cmd.Dir = filepath.Clean(s.target.module)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// run runs the suite's binary where its tests expect to be. Real traces, long runs and control
// planes are left out.
func (s *suite) run(ctx context.Context, binary string, flags ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limit+10*time.Second)
	defer cancel()
	args := append([]string{"-c", fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, mostMemory), binary, "-test.short", "-test.timeout", s.limit.String()}, s.flags...)
	cmd := exec.CommandContext(ctx, "sh", append(args, flags...)...) //nolint:gosec // a binary that was compiled here
	cmd.Dir = filepath.Join(s.target.module, s.folder)
	cmd.WaitDelay = 5 * time.Second
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "FAIRLEAD_") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	return cmd.CombinedOutput()
}

// String says in one word what became of it.
func (v verdict) String() string { return [...]string{"not run", "killed", "survived"}[v] }
