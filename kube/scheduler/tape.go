package scheduler

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"

	"fairlead.dev/fairlead/kube/config"
	"fairlead.dev/fairlead/kube/metrics"
	"fairlead.dev/fairlead/recording"
)

// tape is the recording of all lives of a scheduler, a file or more for each core. That the
// disk is full is no reason to stop scheduling: the recording ends, that is reported once, and
// the next core tries to begin another.
type tape struct {
	path   string
	writer *recording.Writer // nil if nothing is recorded
	bytes  int64             // that were counted
	failed bool
}

// begin begins a file of the recording, if one is wanted. A file that cannot be begun ends
// the recording, but for the first core's, whose error is the scheduler's.
func (t *tape) begin(want config.Record, header recording.Header, first bool) error {
	var err error
	switch {
	case want.Path == "":
		return nil
	case t.writer == nil:
		t.path = want.Path
		t.writer, err = recording.NewWriter(want.Path, header, recording.Limits{FileBytes: want.MaxFileBytes, Files: want.MaxFiles})
	default:
		err = t.writer.Rotate(header)
	}
	if err == nil {
		return nil
	}
	if err = fmt.Errorf("record to %s: %w", want.Path, err); first {
		return err
	}
	klog.Background().Error(err, "the recording ends here; scheduling goes on")
	if t.writer != nil {
		_ = t.writer.Close() // of a file that may have been begun all the same
	}
	t.writer, t.bytes = nil, 0
	return nil
}

// full reports whether the next core is to begin, and with it the next file.
func (t *tape) full() bool { return t.writer != nil && t.writer.Full() }

// keep makes sure that little is lost should the process be killed.
func (t *tape) keep(ctx context.Context, counts *metrics.Rounds) {
	if t.writer == nil {
		return
	}
	err := t.writer.Flush()
	if err != nil && !t.failed {
		klog.FromContext(ctx).Error(err, "the recording ends here; scheduling goes on", "path", t.path)
	}
	t.failed = err != nil
	counts.Recorded(int(t.writer.Bytes() - t.bytes))
	t.bytes = t.writer.Bytes()
}

// end closes the recording.
func (t *tape) end(ctx context.Context) {
	if t.writer == nil {
		return
	}
	if err := t.writer.Close(); err != nil {
		klog.FromContext(ctx).Error(err, "the recording is not whole", "path", t.path)
	}
}
