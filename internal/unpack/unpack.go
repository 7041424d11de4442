// Package unpack reads what may be compressed with gzip, and is read whole.
package unpack

import (
	"bufio"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// This file unpacks what is read whole. A thousand bytes may unpack to a million, and a
// megabyte to a gigabyte; what people write shrinks to a tenth.

const (
	// unpackedFree and unpackedPer are how many bytes may be unpacked: so many, and so many
	// more for each packed byte.
	unpackedFree, unpackedPer = 32 << 20, 50
)

// Reader is what is in the input, which may be compressed with gzip.
func Reader(in io.Reader) (io.Reader, error) {
	packed := &counting{in: in}
	text := bufio.NewReader(packed)
	if magic, _ := text.Peek(2); string(magic) != "\x1f\x8b" {
		return text, nil // whose reader says what is wrong
	}
	unzip, err := gzip.NewReader(text)
	if err != nil {
		return nil, err
	}
	return &unpacking{unzip: unzip, packed: packed}, nil
}

// counting counts what is read.
type counting struct {
	in   io.Reader
	read int64
}

// Read reads and counts.
func (c *counting) Read(to []byte) (int, error) {
	n, err := c.in.Read(to)
	c.read += int64(n)
	return n, err
}

// unpacking ends where far more is unpacked than was packed.
type unpacking struct {
	unzip  io.Reader
	packed *counting
	sum    int64
}

// Read unpacks, or says that it becomes too much.
func (u *unpacking) Read(to []byte) (int, error) {
	n, err := u.unzip.Read(to)
	if u.sum += int64(n); u.sum > unpackedFree+unpackedPer*u.packed.read {
		return 0, fmt.Errorf("%d bytes of gzip unpack to more than %d, which is the most that is read of so few; unpack the file first if that is meant", u.packed.read, u.sum)
	}
	return n, err
}
