package testbed

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// A process of the bed must not outlive it, however it ends. Linux kills a child
// with Pdeathsig when the thread that forked it ends, not the process; Go ends
// threads as it pleases. So one goroutine that owns its thread forks everything
// and stays until the bed is closed.

// forker starts processes from one thread.
type forker struct{ calls chan func() }

func newForker() forker {
	f := forker{calls: make(chan func())}
	go func() {
		// Never unlocked: the thread ends with the goroutine, and a child
		// that was forgotten ends with the thread.
		runtime.LockOSThread()
		for call := range f.calls {
			call()
		}
	}()
	return f
}

func (f forker) start(c *exec.Cmd) error {
	done := make(chan error)
	f.calls <- func() { done <- c.Start() }
	return <-done
}

func (f forker) close() { close(f.calls) }

// process is one program that was started.
type process struct {
	name     string
	log      string // the path of what it prints
	command  *exec.Cmd
	done     chan struct{} // closed once it has ended
	stopping atomic.Bool   // whether its end was asked for
}

// run starts a program that logs to a file. A second process of the same name
// continues the log of the first.
func (f forker) run(name, log string, command *exec.Cmd) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("test bed: open the log of %s: %w", name, err)
	}
	defer out.Close() //nolint:errcheck // The child has a copy and writes; here nothing was written.
	command.Stdout, command.Stderr = out, out
	// A process group of its own, or Ctrl-C would end the children before the
	// bed could, in any order.
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Pdeathsig, command.SysProcAttr.Setpgid = syscall.SIGKILL, true
	p := &process{name: name, log: log, command: command, done: make(chan struct{})}
	if err := f.start(command); err != nil {
		return nil, fmt.Errorf("test bed: start %s: %w", name, err)
	}
	go func() {
		_ = command.Wait() // How it ended is in command.ProcessState.
		close(p.done)
	}()
	return p, nil
}

// stop ends the process with a signal, and by force when it takes its time.
func (p *process) stop(signal syscall.Signal) {
	p.stopping.Store(true)
	_ = p.command.Process.Signal(signal) // It may have ended already.
	select {
	case <-p.done:
		return
	case <-time.After(10 * time.Second):
	}
	_ = p.command.Process.Kill() // It may have ended by now.
	<-p.done
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// err says how the process ended if nobody asked it to, and quotes its log.
func (p *process) err() error {
	if !p.ended() || p.stopping.Load() {
		return nil
	}
	return fmt.Errorf("test bed: %s ended by itself (%s)\n%s", p.name, p.command.ProcessState, p.tail())
}

// tail quotes the last lines of the log, which is where programs say why they
// gave up.
func (p *process) tail() string { return logTail(p.log) }

func logTail(path string) string {
	const limit, lines = 16 << 10, 15
	f, err := os.Open(path)
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	defer f.Close() //nolint:errcheck // Only read.
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		_, err = f.Seek(max(0, size-limit), io.SeekStart)
		if err != nil {
			return fmt.Sprintf("(no log: %v)", err)
		}
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return path + " is empty"
	}
	all := bytes.Split(text, []byte("\n"))
	all = all[max(0, len(all)-lines):]
	return "last lines of " + path + ":\n  " + string(bytes.Join(all, []byte("\n  ")))
}

// cpu is the processor time, user and system, that the process has used.
func (p *process) cpu() time.Duration {
	if p.ended() {
		return p.command.ProcessState.UserTime() + p.command.ProcessState.SystemTime()
	}
	return cpuOf(p.command.Process.Pid)
}

// cpuOf reads the processor time of a process from /proc; it is zero for one
// that does not exist.
func cpuOf(pid int) time.Duration {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	// The second field is the name in parentheses and may contain both blanks
	// and parentheses; utime and stime are fields 14 and 15, in ticks of 1/100 s
	// whatever the kernel's own tick is.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const tick = 10 * time.Millisecond
	var sum time.Duration
	for _, field := range fields[11:13] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0
		}
		sum += time.Duration(ticks) * tick
	}
	return sum
}
