package app

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/kube/metrics"
)

// followed is a configuration in a folder that a follower looks at.
type followed struct {
	t        *testing.T
	dir      string
	log      bytes.Buffer
	told     []string // the classes of each table that the scheduler was told
	asked    chan os.Signal
	registry *prometheus.Registry
	*follower
}

// inFolder runs a test in a bubble in which the file is followed.
func inFolder(t *testing.T, text string, test func(*followed)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := &followed{t: t, dir: dir, asked: make(chan os.Signal, 1), registry: prometheus.NewRegistry()}
		f.write("config.yaml", text)
		o := newOptions()
		o.configFile, o.given = filepath.Join(dir, "config.yaml"), func(string) bool { return false }
		c, err := o.configuration()
		if err != nil {
			t.Fatal(err)
		}
		promise := func(table *class.Table) { f.told = append(f.told, strings.Join(append(named(table), "."), " ")) }
		f.follower = &follower{files: o.files, load: o.configuration, promise: promise, counts: &metrics.New(f.registry).Configuration}
		f.begin(c)
		ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&f.log))))
		go f.follow(ctx, f.asked)
		test(f)
	})
}

// write replaces a file of the folder.
func (f *followed) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(strings.ReplaceAll(text, "DIR", f.dir)), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// expect lets a look pass. The scheduler was told these tables since the last time, and the
// log says all of this, or nothing where that is empty.
func (f *followed) expect(told string, says ...string) {
	f.t.Helper()
	time.Sleep(lookAgain)
	synctest.Wait()
	if got := strings.Join(f.told, ", "); got != told {
		f.t.Errorf("the scheduler was told %q, want %q", got, told)
	}
	for _, s := range says {
		if !strings.Contains(f.log.String(), s) {
			f.t.Errorf("the log does not say %q:\n%s", s, f.log.String())
		}
	}
	if len(says) == 0 && f.log.Len() > 0 {
		f.t.Errorf("the log says %s", f.log.String())
	}
	f.told = nil
	f.log.Reset()
}

// shown are the values of a metric by label.
func (f *followed) shown(name string) string {
	families, err := f.registry.Gather()
	if err != nil {
		f.t.Fatal(err)
	}
	var list []string
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == name {
				list = append(list, fmt.Sprintf("%s %v", m.GetLabel()[0].GetValue(), m.GetCounter().GetValue()+m.GetGauge().GetValue()))
			}
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

const (
	top    = "apiVersion: fairlead.dev/v1alpha1\nkind: SchedulerConfiguration\n"
	table  = "{classes: [{name: gold, availability: 99%}, {name: rest}]}"
	later  = "{classes: [{name: gold, availability: 90%}, {name: iron}]}"
	faulty = "{classes: [{name: gold, availability: 120%}]}"
)

// TestReread: classes that change are told to the scheduler once, what is wrong with a file is
// said once, and the classes before hold.
func TestReread(t *testing.T) {
	inFolder(t, top+"classes: "+table, func(f *followed) {
		f.expect("")
		f.write("config.yaml", top+"classes: "+later)
		f.expect("gold iron .", `The classes of the configuration have changed`, `before=["gold","rest"] now=["gold","iron"]`)
		f.expect("")
		f.write("config.yaml", top+"classes: "+faulty)
		f.expect("", "The changed configuration is refused; what was read before holds", "config.yaml:3:48: classes.classes[0].availability: 120%")
		f.expect("")
		if got := named(f.running.Load().Classes.Table); !slices.Equal(got, []string{"gold", "iron"}) {
			t.Errorf("the classes are %v, want those before", got)
		}
		f.write("config.yaml", top)
		f.expect(".", "The classes of the configuration have changed")
		if got := f.shown("fairlead_configuration_reads_total"); got != "refused 1, taken 3" {
			t.Errorf("reads: %s", got)
		}
	})
}

// TestRereadClassesOfAFile: the file of the classes counts, also one that comes after it was
// named, and one that was written anew by setting a link to it, as a ConfigMap is.
func TestRereadClassesOfAFile(t *testing.T) {
	inFolder(t, top, func(f *followed) {
		f.expect("")
		f.write("config.yaml", top+"classes: DIR/classes.yaml")
		f.expect("", "cannot read the table of classes")
		f.expect("")
		f.write("first.yaml", table)
		link := func(to string) {
			if err := os.Symlink(filepath.Join(f.dir, to), filepath.Join(f.dir, "link")); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(f.dir, "link"), filepath.Join(f.dir, "classes.yaml")); err != nil {
				t.Fatal(err)
			}
		}
		link("first.yaml")
		f.expect("gold rest .", "have changed")
		f.write("second.yaml", later)
		link("second.yaml")
		f.expect("gold iron .", "have changed")
		f.expect("")
	})
}

// TestRereadNamesWhatNeedsARestart: what is read at the start only is named once, and shown
// for as long as it differs; the classes beside it are taken.
func TestRereadNamesWhatNeedsARestart(t *testing.T) {
	inFolder(t, top+"bindWorkers: 8", func(f *followed) {
		f.write("config.yaml", top+"bindWorkers: 9\nrackLabel: rack\nclasses: "+table)
		f.expect("gold rest .", "read at the start only", `fields=["bindWorkers","rackLabel"]`)
		if got := f.shown("fairlead_configuration_needs_restart"); got != "bindWorkers 1, rackLabel 1" {
			t.Errorf("shown: %s", got)
		}
		if got := f.running.Load(); got.BindWorkers != 8 || got.RackLabel != "" || got.Classes.Table == nil {
			t.Errorf("runs with %+v", got)
		}
		f.write("config.yaml", top+"bindWorkers: 8\nclasses: "+table)
		f.expect("")
		if got := f.shown("fairlead_configuration_needs_restart"); got != "" {
			t.Errorf("shown: %s", got)
		}
	})
}

// TestRereadWhenAsked: a signal is answered at once, and in the log whatever it found.
func TestRereadWhenAsked(t *testing.T) {
	inFolder(t, top, func(f *followed) {
		f.expect("")
		f.write("config.yaml", top+"classes: "+table)
		f.asked <- os.Interrupt
		synctest.Wait()
		if len(f.told) != 1 {
			t.Error("the signal changed nothing")
		}
		f.expect("gold rest .", "have changed", "Looked at the configuration again")
		f.asked <- os.Interrupt
		f.expect("", "Looked at the configuration again")
		f.write("config.yaml", top+"classes: "+faulty)
		f.expect("", "is refused")
		f.asked <- os.Interrupt
		f.expect("", "is refused", "Looked at the configuration again")
	})
}
