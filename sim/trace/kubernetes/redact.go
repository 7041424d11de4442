package kubernetes

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"fairlead.dev/fairlead/internal/manifest"
	"fairlead.dev/fairlead/sim/trace"
)

// This file writes a dump again with what is read of it and nothing else: no environment, arguments, commands or images of
// containers, no annotations but those that decide something, no addresses, messages or sizes of disks in a status, no
// objects of other kinds. What is left is as it was, so that every question has the same answer.

// Redaction is what came of a dump.
type Redaction struct {
	Objects int // that were written
	Others  int // of kinds that are not read
	Skips   trace.Skips
}

// Redact reads a file or a folder and writes it as a List without what is not read. The stop is asked before each object.
func Redact(to io.Writer, path string, lenient bool, stop func() error) (*Redaction, error) {
	r := &Redaction{Skips: trace.Skips{Lenient: lenient}}
	out := bufio.NewWriterSize(to, 1<<16)
	separator := "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n"
	err := readAll(path, func(file, place string, o *manifest.Object, err error) error {
		if stopped := stop(); stopped != nil {
			return stopped
		}
		switch {
		case err == nil && o.Kind == "":
			err = &trace.Error{File: file, At: place + ": kind", Want: "Node or Pod"}
		case err == nil && !manifest.IsRead(o.Kind):
			r.Others++
			return nil
		}
		if err != nil {
			return r.Skips.Refuse(err)
		}
		text, err := json.Marshal(o.Fields())
		if err != nil {
			return fmt.Errorf("%s: %s: %w", file, place, err)
		}
		r.Objects++
		// The buffer keeps the first error for Flush.
		_, _ = out.WriteString(separator)
		_, _ = out.Write(text)
		separator = ",\n"
		return nil
	})
	if err != nil {
		return r, err
	}
	if r.Objects == 0 {
		_, _ = out.WriteString(separator)
	}
	_, _ = out.WriteString("\n]}\n")
	return r, out.Flush()
}
