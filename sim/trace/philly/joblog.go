package philly

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/sim/trace"
	"fairlead.dev/fairlead/sim/trace/gpujobs"
)

// This file reads the original log of jobs, cluster_job_log, a list in JSON. It is read job by job, of which each has a bounded length.

// mostJob bounds the bytes of one job.
const mostJob = 1 << 22

// record is a job of the log. Times are dates, or None or null where nobody knows them.
type record struct {
	Status    string    `json:"status"`
	VC        string    `json:"vc"`
	ID        string    `json:"jobid"`
	Submitted string    `json:"submitted_time"`
	Attempts  []attempt `json:"attempts"`
}

// attempt is a run of a job, on some GPUs of some machines.
type attempt struct {
	Start  string `json:"start_time"`
	End    string `json:"end_time"`
	Detail []struct {
		GPUs []string `json:"gpus"`
	} `json:"detail"`
}

// isJobLog reports whether a file begins as a list in JSON does, and returns its text from there on.
func isJobLog(r io.Reader) (text *bufio.Reader, is bool) {
	text = bufio.NewReader(r)
	if magic, err := text.Peek(2); err == nil && string(magic) == "\x1f\x8b" {
		unzip, err := gzip.NewReader(text)
		if err != nil {
			return text, false // whoever reads it as a table says what is wrong
		}
		text = bufio.NewReader(unzip)
	}
	start, _ := text.Peek(64)
	return text, bytes.HasPrefix(bytes.TrimLeft(start, " \t\r\n"), []byte("["))
}

// openJobLog reads the file if it is the original log; done says whether it was.
func openJobLog(file string, l *gpujobs.List, o *gpujobs.Options) (done bool, err error) {
	if file == trace.Stdin {
		return false, nil // it can be read once, and is a table
	}
	f, name, err := trace.Open(file)
	if err != nil {
		return true, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	text, is := isJobLog(f)
	if !is {
		return false, nil
	}
	return true, readJobLog(name, text, l, o)
}

// bounded ends a text that goes on for too long.
type bounded struct {
	io.Reader
	left int
}

var errLong = fmt.Errorf("it is longer than %d bytes", mostJob)

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLong
	}
	n, err := b.Reader.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// readJobLog reads all jobs.
func readJobLog(name string, text io.Reader, l *gpujobs.List, o *gpujobs.Options) error {
	limit := &bounded{text, mostJob}
	d := json.NewDecoder(limit)
	broken := func(number int, err error) error {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return &trace.Error{File: name, At: fmt.Sprintf("job %d of the list", number), Want: `a job, {"jobid": ..., "attempts": [...]}, or the end of the list`, Err: err}
	}
	if _, err := d.Token(); err != nil {
		return broken(1, err)
	}
	jobs := 0
	for ; d.More(); jobs++ {
		var r record
		limit.left = mostJob
		if err := d.Decode(&r); err != nil {
			return broken(jobs+1, err)
		}
		j, why := r.job(o)
		if why != "" {
			err := &trace.Error{File: name, At: fmt.Sprintf("job %d of the list, %.40s", jobs+1, r.ID), Want: why}
			if err := l.Skips.Refuse(err); err != nil {
				return err
			}
			continue
		}
		if j == nil {
			l.Omit("jobs that never began, or had no GPU")
			continue
		}
		l.Add(*j)
	}
	if _, err := d.Token(); err != nil || jobs == 0 {
		return broken(jobs+1, err)
	}
	return nil
}

// job is what becomes of the record: nil if it never had a GPU. Why says what is wrong with it.
func (r *record) job(o *gpujobs.Options) (j *gpujobs.Job, why string) {
	at, ok := moment(r.Submitted)
	if !ok {
		return nil, "a date in submitted_time"
	}
	pods := gpujobs.Pods{Fails: r.Status == "Failed"}
	for i := range r.Attempts {
		a := &r.Attempts[i]
		gpus := int64(0)
		for _, d := range a.Detail {
			gpus += int64(len(d.GPUs))
		}
		start, began := moment(a.Start)
		end, ended := moment(a.End)
		switch {
		case gpus == 0 || !began:
			continue
		case !ended && i == len(r.Attempts)-1: // it was still running when the log was written
			pods.Work = cluster.Never
		case ended && end < start:
			return nil, "an end_time that is not before its start_time"
		case ended:
			pods.Work = min(pods.Work+end-start, gpujobs.MostTime)
		}
		pods.GPU = gpus * gpujobs.Device
	}
	if pods.GPU == 0 {
		return nil, ""
	}
	return &gpujobs.Job{At: at, User: r.VC, Name: r.ID, Pods: o.Whole(pods)}, ""
}

// moment is a date of the log.
func moment(text string) (cluster.Time, bool) { return gpujobs.ParseDate([]byte(text)) }
