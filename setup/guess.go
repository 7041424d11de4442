package setup

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"

	"fairlead.dev/fairlead/sim/trace"
)

// This file looks into a file whose format nobody names. Only a cluster as kubectl prints it can be told from our own
// format by that, and it is what people have.

// lookAt is how much of a file is looked at.
const lookAt = 64 << 10

// Guess puts the format before a SRC that names a file alone, or the standard input, if that is a cluster as kubectl prints it.
func Guess(text string) string {
	if path := unnamed(text); path != "" && isDump(path) {
		return kubernetesName + ":" + text
	}
	return text
}

// unnamed is the file of a SRC that does not say its format, or empty.
func unnamed(text string) string {
	path, _, _ := strings.Cut(text, "?")
	if name, _, named := strings.Cut(text, ":"); named && !strings.ContainsAny(name, "/.\\") && len(name) > 1 {
		return ""
	}
	path, _ = plainOptions(path, append(slices.Clone(kubernetesFormat().options), "slots"))
	return path
}

// ErrNoDump says that a source is no cluster as kubectl prints it.
var ErrNoDump = errors.New("want a cluster with its pods as kubectl prints them, such as kubernetes:me.json")

// AsDump takes the source for a cluster as kubectl prints it, as questions do that only such a one answers: what is on the
// standard input has to be one. The error is ErrNoDump. A file that is not there is left to Sources.Check.
func (s *Source) AsDump() error {
	asked := cmp.Or(s.Cluster, s.Workload)
	path, dump := unnamed(asked), Guess(asked)
	if path == trace.Stdin {
		dump = kubernetesName + ":" + asked
	}
	if asked == "" {
		return ErrNoDump
	}
	if !strings.HasPrefix(dump, kubernetesName+":") {
		if _, err := os.Stat(path); path != "" && err != nil {
			return nil
		}
		return fmt.Errorf("%s: %w", asked, ErrNoDump)
	}
	if s.Workload == asked {
		s.Workload = dump
	}
	s.Cluster = dump
	return nil
}

// isDump reports whether a file, or the first of a folder's, begins like an object of Kubernetes.
func isDump(path string) bool {
	if path == trace.Stdin {
		return beginsLikeDumpFile(bytes.NewReader(trace.PeekStdin(lookAt)))
	}
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if info.IsDir() {
		for _, pattern := range []string{"*.json", "*.yaml", "*.yml", "*.json.gz", "*.yaml.gz"} {
			if files, _ := filepath.Glob(filepath.Join(path, pattern)); len(files) > 0 {
				return isDump(files[0])
			}
		}
		return false
	}
	if !info.Mode().IsRegular() { // a pipe would be read empty
		return false
	}
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close() //nolint:errcheck // it was only read
	return beginsLikeDumpFile(file)
}

// beginsLikeDumpFile is beginsLikeDump of what a file holds, which may be compressed.
func beginsLikeDumpFile(file io.Reader) bool {
	var in io.Reader = bufio.NewReader(file)
	if magic, err := in.(*bufio.Reader).Peek(2); err == nil && string(magic) == "\x1f\x8b" {
		if in, err = gzip.NewReader(in); err != nil {
			return false
		}
	}
	start := make([]byte, lookAt)
	n, _ := io.ReadFull(in, start)
	return beginsLikeDump(bytes.TrimSpace(start[:n]))
}

// beginsLikeDump reports whether a text begins like JSON or YAML of Kubernetes, and not like a line of ours.
func beginsLikeDump(text []byte) bool {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if bytes.Contains(line, []byte(`"fairlead"`)) && bytes.Contains(line, []byte(`"version"`)) {
		return false
	}
	if bytes.HasPrefix(text, []byte("{")) || bytes.HasPrefix(text, []byte("[")) {
		says := func(key string) bool {
			return bytes.Contains(text, []byte(`"`+key+`"`)) || bytes.Contains(text, []byte(key+":"))
		}
		return says("apiVersion") && says("kind") || says("items")
	}
	return bytes.HasPrefix(text, []byte("apiVersion:")) || bytes.Contains(text, []byte("\napiVersion:")) || bytes.HasPrefix(text, []byte("items:"))
}
