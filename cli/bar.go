package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"fairlead.dev/fairlead/sim"
)

// bar shows on a terminal how far the runs have come. Elsewhere it is silent.
type bar struct {
	mutex    sync.Mutex
	out      io.Writer // nil: silent
	terminal int       // the file descriptor of out
	started  time.Time
	shown    time.Time
	runs     []progress
	counted  int // all runs of a sweep, with those that were done before; 0: runs are not counted
}

// progress is one run.
type progress struct {
	policy string
	sim.Progress
	share float64 // 0 to 1; 0 where it is not known
	begun time.Time
	over  bool
}

// redraw is how long a line stands before it is drawn again.
const redraw = 200 * time.Millisecond

func newBar(out io.Writer, runs int) *bar {
	b := &bar{runs: make([]progress, runs), started: time.Now()}
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb" {
		b.out, b.terminal = out, int(file.Fd())
	}
	return b
}

// note takes in how far a run has come.
func (b *bar) note(run int, policy string, p sim.Progress) {
	if b.out == nil {
		return
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	r := &b.runs[run]
	if r.begun.IsZero() {
		r.begun = time.Now()
	}
	r.policy, r.Progress = policy, p
	if p.Until > 0 {
		r.share = float64(p.Now) / float64(p.Until)
	}
	if time.Since(b.shown) >= redraw {
		b.shown = time.Now()
		b.draw()
	}
}

// done marks a run as over.
func (b *bar) done(run int) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.runs[run].over = true
	b.runs[run].share = 1
}

// draw writes the line. It leaves the last column free: a line that fills a
// terminal wraps on some.
func (b *bar) draw() {
	columns, _, err := term.GetSize(b.terminal)
	if err != nil || columns <= 0 {
		columns = 80
	}
	fmt.Fprint(b.out, "\r\x1b[K"+b.line(time.Since(b.started), columns-1))
}

// line says what runs now, the rate of all, and the time left, in so many
// columns. What does not fit is left out: first the policies, then the time
// left, the rate, and the bar itself.
func (b *bar) line(spent time.Duration, columns int) string {
	const width = 24
	total, decisions, over := 0.0, int64(0), 0
	known := true
	var now []string
	for i := range b.runs {
		r := &b.runs[i]
		total += r.share
		decisions += r.Decisions
		if r.over {
			over++
		}
		if r.over || r.policy == "" {
			continue
		}
		known = known && r.Until > 0
		now = append(now, fmt.Sprintf("%s at %s", r.policy, time.Duration(r.Now)*time.Microsecond/time.Second*time.Second))
	}
	share := min(total/float64(len(b.runs)), 1)
	filled := int(share * width)
	percent := fmt.Sprintf("%3.0f%%", share*100)
	if b.counted > 0 {
		percent += fmt.Sprintf("  %d of %d runs", b.counted-len(b.runs)+over, b.counted)
		known = true // of many runs those that are over say how long the others take
	}
	whole := fmt.Sprintf("[%s%s] %s", strings.Repeat("=", filled), strings.Repeat(" ", width-filled), percent)
	rate := ""
	if b.counted == 0 { // short runs end before they have said how many they made
		rate = fmt.Sprintf("  %.0f decisions/s", float64(decisions)/max(spent.Seconds(), 1e-6))
	}
	left := ""
	if known && share > 0.01 {
		left = fmt.Sprintf(", %s left", time.Duration(float64(spent)*(1-share)/share).Round(time.Second))
	}
	var lines []string // the longest first
	for n := len(now); n > 0; n-- {
		policies := strings.Join(now[:n], ", ")
		if n < len(now) {
			policies += fmt.Sprintf(" and %d more", len(now)-n)
		}
		lines = append(lines, whole+"  "+policies+rate+left)
	}
	for _, text := range append(lines, whole+rate+left, whole+rate, whole, percent) {
		if len(text) <= columns {
			return text
		}
	}
	return ""
}

// close takes the line away.
func (b *bar) close() {
	if b.out != nil {
		fmt.Fprint(b.out, "\r\x1b[K")
	}
}
