package document

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBounded: an input without end is an error, and says so; one that is as long as may be is read.
func TestBounded(t *testing.T) {
	if _, err := ReadFile("/dev/zero"); err == nil || !strings.HasPrefix(err.Error(), "/dev/zero: there is more than 64 MiB to read") {
		t.Error(err)
	}
	for length, ok := range map[int]bool{0: true, 9: true, 10: true, 11: false} {
		text, err := ReadUpTo(strings.NewReader(strings.Repeat("x", length)), 10)
		if (err == nil) != ok || ok && len(text) != length {
			t.Errorf("of %d bytes %d, %v", length, len(text), err)
		}
	}
	path := filepath.Join(t.TempDir(), "f")
	if _, err := ReadFile(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("a: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := ReadFile(path); err != nil || string(text) != "a: 1\n" {
		t.Errorf("%q, %v", text, err)
	}
}
