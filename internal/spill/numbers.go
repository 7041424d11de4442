package spill

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
)

// Numbers is a list of numbers in a temporary file, of which any may be set, and all are then read in order. Those that
// were never set are 0.
type Numbers struct {
	file *os.File
	in   *bufio.Reader
}

// NewNumbers begins a list.
func NewNumbers() (*Numbers, error) {
	file, err := os.CreateTemp("", "fairlead-numbers-*")
	if err != nil {
		return nil, err
	}
	// Where an open file can be removed, nothing stays behind even after a crash. Elsewhere Close removes it.
	_ = os.Remove(file.Name())
	return &Numbers{file: file}, nil
}

// Set sets the i-th number.
func (n *Numbers) Set(i int, v int64) error {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(v))
	_, err := n.file.WriteAt(b[:], int64(i)*8)
	return err
}

// Next returns the next number, from the first on. Nothing is set after it.
func (n *Numbers) Next() (int64, error) {
	if n.in == nil {
		n.in = bufio.NewReaderSize(io.NewSectionReader(n.file, 0, math.MaxInt64), 1<<16)
	}
	var b [8]byte
	_, err := io.ReadFull(n.in, b[:])
	// What lies behind the last number that was set was never written.
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	return int64(binary.LittleEndian.Uint64(b[:])), nil
}

// Close removes the file.
func (n *Numbers) Close() error {
	err := n.file.Close()
	if gone := os.Remove(n.file.Name()); gone != nil && !errors.Is(gone, os.ErrNotExist) {
		err = cmp.Or(err, gone)
	}
	return err
}
