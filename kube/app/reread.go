package app

import (
	"context"
	"crypto/sha256"
	"os"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/class"
	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/metrics"
)

// This file looks at the configuration again while the scheduler runs. A ConfigMap that is
// mounted changes by a link that is set to another folder, and other files in any way, so
// nothing is watched: the text is read, and what counts is its hash. The classes may change
// under way; what else has changed is named, and waits for a restart. A file that is wrong
// changes nothing.

// lookAgain is how often the files are looked at. The kubelet takes up to a minute to
// show a ConfigMap that has changed.
const lookAgain = 10 * time.Second

// follower keeps to a configuration that may change.
type follower struct {
	files   func(*config.SchedulerConfiguration) []string // that the configuration stands in
	load    func() (*config.SchedulerConfiguration, error)
	promise func(*class.Table) // is told of changed classes
	counts  *metrics.Configuration

	began   *config.SchedulerConfiguration                // at the start
	running atomic.Pointer[config.SchedulerConfiguration] // with the classes as they are now

	seen      [sha256.Size]byte // what the files said last
	complaint string            // of the file as it is; empty if it is right
	waiting   []string          // for a restart, as was logged
}

// begin takes in the configuration that the process starts with. The first look reads it
// again, as it may have changed since.
func (f *follower) begin(c *config.SchedulerConfiguration) {
	f.began = c
	f.running.Store(c)
}

// follow looks again once in a while, and when it is asked to, until the context ends.
func (f *follower) follow(ctx context.Context, asked <-chan os.Signal) {
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-asked:
			f.complaint = "" // to be said again
			f.read(ctx, f.hash())
			klog.FromContext(ctx).Info("Looked at the configuration again, as the signal asked for")
		case <-ticker.C:
			f.look(ctx)
		}
	}
}

// look reads the configuration if it has changed, or was wrong: another file that it names
// may be there by now.
func (f *follower) look(ctx context.Context) {
	if hash := f.hash(); hash != f.seen || f.complaint != "" {
		f.read(ctx, hash)
	}
}

// hash is that of what the files say. One that cannot be read says nothing; to load it is
// an error with its reason.
func (f *follower) hash() [sha256.Size]byte {
	all := sha256.New()
	for _, file := range f.files(f.running.Load()) {
		text, _ := os.ReadFile(file)
		one := sha256.Sum256(text)
		all.Write(one[:])
	}
	return [sha256.Size]byte(all.Sum(nil))
}

// read takes over what the files say, whose hash was that before.
func (f *follower) read(ctx context.Context, hash [sha256.Size]byte) {
	logger := klog.FromContext(ctx)
	changed := hash != f.seen
	f.seen = hash
	c, err := f.load()
	if err != nil {
		if changed || err.Error() != f.complaint {
			f.counts.Refused()
			logger.Error(err, "The changed configuration is refused; what was read before holds")
		}
		f.complaint = err.Error()
		return
	}
	f.complaint = ""
	needRestart := f.began.NeedRestart(c)
	f.counts.Read(needRestart)
	if len(needRestart) > 0 && !slices.Equal(needRestart, f.waiting) {
		logger.Info("Take care: the configuration has changed in fields that are read at the start only; restart this process to have them hold", "fields", needRestart)
	}
	f.waiting = needRestart
	now := *f.running.Load()
	before := now.Classes
	now.Classes = c.Classes
	f.running.Store(&now)
	if !reflect.DeepEqual(before.Table, c.Classes.Table) {
		logger.Info("The classes of the configuration have changed", "before", named(before.Table), "now", named(c.Classes.Table))
		f.promise(c.Classes.Table)
	}
}

func named(table *class.Table) []string {
	if table == nil {
		return nil
	}
	return table.Names()
}
