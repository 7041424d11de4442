package testbed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Some programs are built on demand, into the folder of the others: most uses of the bed do not need them, and they are
// minutes of compiling.

// onDemand builds the programs of Build, and has another one made unless it is there, whose name, without a folder, the
// function tells. It returns the path of that.
func onDemand(ctx context.Context, log io.Writer, words string, name func(source) (string, error), build func(s source, to string) error) (string, error) {
	dir, err := Build(ctx, log)
	if err != nil {
		return "", err
	}
	s, err := findSource(ctx)
	if err != nil {
		return "", err
	}
	file, err := name(s)
	if err != nil {
		return "", err
	}
	unlock, err := lock(ctx, filepath.Join(filepath.Dir(dir), "lock"), log)
	if err != nil {
		return "", err
	}
	defer unlock()
	program := filepath.Join(dir, file)
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	fmt.Fprintf(log, "building %s\n", words)
	// Under another name first: whoever finds the program finds all of it.
	temp := program + ".building"
	if err := build(s, temp); err != nil {
		return "", err
	}
	if err := os.Rename(temp, program); err != nil {
		return "", fmt.Errorf("test bed: put %s in place: %w", words, err)
	}
	return program, nil
}

// compile runs the go command in a folder of the module; what it says goes to log.
func (s source) compile(ctx context.Context, log io.Writer, folder string, args ...string) error {
	return compile(ctx, log, filepath.Join(s.module, folder), args...)
}

// compile runs the go command in a folder.
func compile(ctx context.Context, log io.Writer, dir string, args ...string) error {
	c := goCommand(ctx, dir, args...)
	c.Stdout, c.Stderr = log, log
	if err := c.Run(); err != nil {
		return fmt.Errorf("test bed: build in %s; the go command's words are above: %w", c.Dir, err)
	}
	return nil
}

// versioned is a name that changes with what these files of a folder of the module say.
func (s source) versioned(name, folder string, files ...string) (string, error) {
	hash := sha256.New()
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(s.module, folder, file))
		if err != nil {
			return "", fmt.Errorf("test bed: read what %s is built from: %w", name, err)
		}
		hash.Write(text)
	}
	return name + "-" + hex.EncodeToString(hash.Sum(nil))[:12], nil
}
