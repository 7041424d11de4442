package document

import (
	"fmt"
	"io"
	"os"
)

// This file reads documents whole, up to a size that no person writes.

// MostBytes is how long a document may be.
const MostBytes = 64 << 20

// ReadFile is the text of a file that is no longer than MostBytes; see ReadAll.
func ReadFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := ReadAll(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return text, nil
}

// ReadAll is all that there is to read, of an input that may have no end: more than MostBytes are an
// error.
func ReadAll(in io.Reader) ([]byte, error) { return ReadUpTo(in, MostBytes) }

// ReadUpTo is ReadAll with another bound, for what programs write.
func ReadUpTo(in io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, fmt.Errorf("there is more than %d MiB to read, which is the most that is read of such an input", most>>20)
	}
	return text, err
}
