package testbed

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Options say what a bed is made of. The zero value is etcd and an API server
// with fresh data on disk.
type Options struct {
	// ControllerManager and Kwok are started too: with both, Deployments and
	// Jobs live on the fake nodes. Without the controller manager no service
	// account exists and nothing takes the taints of new nodes away, so the
	// API server neither asks for the one nor adds the others.
	ControllerManager, Kwok bool
	// NodesAlone has kwok keep the nodes, and leave the pods to somebody else.
	NodesAlone bool
	// Tmpfs keeps etcd's data in memory, under /dev/shm.
	Tmpfs bool
	// Records has fairlead-scheduler record what it does; see Recording.
	Records bool
	// FeatureGates are, as --feature-gates has them, those of the API server, the controller manager and
	// kube-scheduler that are not as upstream has them by default.
	FeatureGates string
	// APIServerFlags are added to the command line of the API server, for
	// versions of the API and the like.
	APIServerFlags []string
	// Dir receives logs, kubeconfigs and data. It must be empty or not exist;
	// the logs stay after Close. When not given, everything is in a temporary
	// folder, and goes with it.
	Dir string
}

// Bed is a running cluster. Its methods may be called from several goroutines.
type Bed struct {
	options  Options
	programs string // the folder of the built programs
	dir      string // logs, kubeconfigs, certificates
	data     string // what etcd stores
	ports    ports
	accounts map[User]account
	forker   forker

	mu        sync.Mutex
	processes []*process     // in the order of their start; also those that have ended
	watched   map[string]int // processes of others whose processor time counts
	kubelets  []*Kubelet     // whose traces Close removes
	closed    bool
}

// Start brings up a fresh cluster. The context bounds the start alone; the
// cluster runs until Close. After an error nothing is left running.
func Start(ctx context.Context, options Options) (*Bed, error) {
	programs, ok := Built()
	if !ok {
		return nil, errors.New("test bed: its programs are not built; " + howToBuildKubernetes())
	}
	p, err := freePorts()
	if err != nil {
		return nil, err
	}
	b := &Bed{
		options:  options,
		programs: programs,
		ports:    p,
		accounts: newAccounts(),
		forker:   newForker(),
		watched:  map[string]int{},
	}
	if err := b.start(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// howToBuild tells what to type.
const howToBuild = "run `go run ./cmd/fairlead-testbed build` in the folder kube (8 to 10 minutes the first time)"

func (b *Bed) start(ctx context.Context) error {
	if err := b.makeFolders(); err != nil {
		return err
	}
	if err := writeTokens(b.path("tokens.csv"), b.accounts); err != nil {
		return err
	}
	if err := writeServiceAccountKey(b.path("service-account.key")); err != nil {
		return err
	}
	if err := b.writeKubeconfigs(); err != nil {
		return err
	}
	if err := b.startEtcd(ctx); err != nil {
		return err
	}
	if err := b.StartAPIServer(ctx); err != nil {
		return err
	}
	if b.options.ControllerManager {
		if err := b.StartControllerManager(ctx); err != nil {
			return err
		}
	}
	if b.options.Kwok {
		return b.StartKwok(ctx)
	}
	return nil
}

// Close ends all processes and removes the data. The second call does nothing.
func (b *Bed) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	// In reverse, so that nobody loses what it talks to: etcd ends last.
	for _, p := range slices.Backward(b.processes) {
		p.stop(syscall.SIGTERM)
	}
	b.forker.close()
	var err error
	for _, k := range b.kubelets {
		err = errors.Join(err, k.remove())
	}
	return errors.Join(err, b.removeFolders())
}

// Dir is the folder of the logs, NAME.log for the process NAME.
func (b *Bed) Dir() string { return b.dir }

// Program returns the path of a built program, for example of kubectl.
func (b *Bed) Program(name string) string { return program(b.programs, name) }

func (b *Bed) path(name string) string { return filepath.Join(b.dir, name) }

// Run starts any program as a part of the bed: it logs to NAME.log, its
// processor time is counted under that name, and it ends with the bed.
func (b *Bed) Run(name, program string, args ...string) error {
	_, err := b.run(name, program, args...)
	return err
}

func (b *Bed) run(name, program string, args ...string) (*process, error) {
	// Not exec.CommandContext: a process outlives the call that starts it.
	return b.launch(b.forker, name, exec.Command(program, args...)) //nolint:noctx // As said above.
}

func (b *Bed) launch(f forker, name string, c *exec.Cmd) (*process, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, fmt.Errorf("test bed: start %s: the bed is closed", name)
	}
	for _, p := range b.processes {
		if p.name == name && !p.ended() {
			return nil, fmt.Errorf("test bed: start %s: it runs already, as process %d", name, p.command.Process.Pid)
		}
	}
	p, err := f.run(name, b.path(name+".log"), c)
	if err != nil {
		return nil, err
	}
	b.processes = append(b.processes, p)
	return p, nil
}

// Err returns why a process of the bed ended though nobody asked it to, with
// the end of its log, or nil.
func (b *Bed) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.processes {
		if err := p.err(); err != nil {
			return err
		}
	}
	return nil
}

// Wait returns nil when the context ends, or Err as soon as there is one.
func (b *Bed) Wait(ctx context.Context) error {
	for {
		if err := b.Err(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// PIDs returns the running processes by name.
func (b *Bed) PIDs() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	pids := map[string]int{}
	for _, p := range b.processes {
		if !p.ended() {
			pids[p.name] = p.command.Process.Pid
		}
	}
	return pids
}

// Watch counts the processor time of a process that the bed did not start, for
// example a scheduler under a debugger.
func (b *Bed) Watch(name string, pid int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watched[name] = pid
}

// CPU returns the processor time, user and system, used so far under each name.
// One that was killed and started again keeps what it had used.
func (b *Bed) CPU() map[string]time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	used := map[string]time.Duration{}
	for _, p := range b.processes {
		used[p.name] += p.cpu()
	}
	for name, pid := range b.watched {
		used[name] += cpuOf(pid)
	}
	return used
}

// await polls until the check passes. A process that ends first, or is not
// ready within a minute, is an error and is ended, so that a failed start leaves
// nothing behind.
func (b *Bed) await(ctx context.Context, p *process, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			p.stopping.Store(true) // Reported here, and not again by Err.
			return fmt.Errorf("test bed: %s ended before it was ready (%s)\n%s", p.name, p.command.ProcessState, p.tail())
		case <-ctx.Done():
			p.stop(syscall.SIGKILL)
			return fmt.Errorf("test bed: wait for %s to be ready: %w; at last: %w\n%s", p.name, context.Cause(ctx), err, p.tail())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// logTails quotes the end of every log, for a test that failed.
func (b *Bed) logTails() []string {
	logs, _ := filepath.Glob(b.path("*.log")) // The pattern is good.
	var tails []string
	for _, log := range logs {
		tails = append(tails, logTail(log))
	}
	return tails
}

func (b *Bed) certificate() string { return b.path("certificates/apiserver.crt") }

func (b *Bed) server() string { return fmt.Sprintf("https://127.0.0.1:%d", b.ports.apiServer) }
