package sweep

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"fairlead.dev/fairlead/internal/document"
)

// This file is where what is kept of a sweep lies.

// Store keeps files by their names, which have a / where a folder has folders. Several processes may use one at the
// same time.
type Store interface {
	// Open opens the file for reading; who asked closes it. The error of one that is not there is fs.ErrNotExist, here or as
	// soon as it is read.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	// Write keeps what the function writes. The file is there whole, or as it was.
	Write(ctx context.Context, name string, content func(io.Writer) error) error
	// List are the names of the files that begin so, in any order.
	List(ctx context.Context, prefix string) ([]string, error)
}

// mostBytes is how long a file of one run, or a list, may be.
const mostBytes = 1 << 30

// ReadFile is what a file holds that is read whole: that of one run, or the list.
func ReadFile(ctx context.Context, from Store, name string) ([]byte, error) {
	file, err := from.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	text, err := document.ReadUpTo(file, mostBytes)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}

// Folder is a Store in a folder of the file system, which may be one that many machines share.
type Folder struct{ Dir string }

// part is how names of files end that are being written. The star is a number that nobody else has.
const part = ".*.part"

// Clean takes away what writers have left that were killed. It may take a file from one that is writing it
// in this moment, who then writes it once more.
func (f Folder) Clean() error {
	var errs []error
	for _, pattern := range []string{"*" + part[2:], filepath.Join("runs", "*"+part[2:])} {
		left, err := filepath.Glob(filepath.Join(escape(f.Dir), pattern))
		errs = append(errs, err)
		for _, path := range left {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// escape is a path as a pattern that matches it alone.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// Open opens the file.
func (f Folder) Open(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(filepath.Join(f.Dir, filepath.FromSlash(name)))
}

// tries is how often a file is written whose part somebody takes away, as whoever begins does.
const tries = 5

// Write writes the file beside its place, to the disk, and gives it its name: a process that is killed, or a machine
// that stops, leaves it whole or not at all.
func (f Folder) Write(_ context.Context, name string, content func(io.Writer) error) error {
	path := filepath.Join(f.Dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	var err error
	for range tries {
		// A server of NFS says of a file that another machine took away that the handle is stale.
		if err = write(path, content); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESTALE) {
			return err
		}
	}
	return err
}

// write writes the file once; what it has written is not left where that fails.
func write(path string, content func(io.Writer) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+part)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(file, 1<<16)
	err = content(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = file.Chmod(0o644) // CreateTemp's is for the owner alone, and others gather
	}
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // the first error counts
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder has the names of a folder on the disk. Not every file system can: there it is as safe as it gets.
func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	_ = dir.Sync()
	return dir.Close()
}

// List are the files of a folder whose names begin so.
func (f Folder) List(_ context.Context, prefix string) ([]string, error) {
	folder, begin := "", prefix
	if at := strings.LastIndex(prefix, "/"); at >= 0 {
		folder, begin = prefix[:at+1], prefix[at+1:]
	}
	entries, err := os.ReadDir(filepath.Join(f.Dir, filepath.FromSlash(folder)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), begin) && !strings.HasSuffix(entry.Name(), part[2:]) {
			names = append(names, folder+entry.Name())
		}
	}
	return names, err
}
