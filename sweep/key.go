package sweep

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
)

// This file is keys of runs, by which a result is taken from what is kept only if it would be the same.

// keyBytes is how much of a hash a key is: of 2^64 runs two would have the same by chance.
const keyBytes = 16

// keyed is what a key is the hash of.
type keyed struct {
	Fairlead string          `json:"fairlead"`
	Version  int             `json:"version"`
	Program  string          `json:"program"`
	Lists    bool            `json:"lists"`
	Spec     json.RawMessage `json:"spec"`
	Inputs   []digest        `json:"inputs"`
}

// key is the key of a run that reads the files.
func (l *List) key(run *Run, files digester, inputs []string) (string, error) {
	spec, err := run.Spec.JSON()
	if err != nil {
		return "", err
	}
	of := keyed{"run of a sweep", Version, l.Program, l.Lists, spec, nil}
	for _, path := range inputs {
		d, err := files.of(path)
		if err != nil {
			return "", err
		}
		of.Inputs = append(of.Inputs, d)
	}
	text, err := json.Marshal(of)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:keyBytes]), err
}

// digest says what a file holds, or a folder.
type digest struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// digester reads each file once, however many runs do.
type digester map[string]digest

// of is the digest of the file or folder.
func (d digester) of(path string) (digest, error) {
	if known, is := d[path]; is {
		return known, nil
	}
	sum := sha256.New()
	length, err := add(sum, path, 0)
	if err != nil {
		return digest{}, err
	}
	d[path] = digest{path, length, hex.EncodeToString(sum.Sum(nil))}
	return d[path], nil
}

// mostNested is how many folders may lie within each other, as a link may lead back to where it lies.
const mostNested = 16

// add adds what the file holds, or names, sizes and contents of all that lies in the folder, in the order of the
// names. It returns the number of bytes.
func add(to hash.Hash, path string, nested int) (int64, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return 0, err
	case info.Mode().IsRegular():
		return addFile(to, path)
	case !info.IsDir():
		return 0, fmt.Errorf("%s: is read once, and there are several runs; want a file or a folder", path)
	case nested == mostNested:
		return 0, fmt.Errorf("%s: lies in %d folders; does a link lead back?", path, mostNested)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for _, entry := range entries {
		// The content has an end of its own, so that no other folder gives the same bytes.
		within := sha256.New()
		length, err := add(within, filepath.Join(path, entry.Name()), nested+1)
		if err != nil {
			return 0, err
		}
		total += length
		fmt.Fprintf(to, "%q %d %x\n", entry.Name(), length, within.Sum(nil))
	}
	return total, nil
}

func addFile(to hash.Hash, path string) (int64, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	length, err := io.Copy(to, file)
	return length, errors.Join(err, file.Close())
}

// sumOf is the hash of a text as it is written.
func sumOf(text []byte) string {
	sum := sha256.Sum256(bytes.TrimSpace(text))
	return hex.EncodeToString(sum[:])
}
