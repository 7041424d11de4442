package unpack

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"fairlead.dev/fairlead/report"
)

func packedText(t *testing.T, parts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for _, part := range parts {
		if _, err := io.WriteString(z, part); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestUnpackedBombs reads results that are small and unpack to much, by text or by runs. None
// takes half a gigabyte, counted in all that was ever allocated.
func TestUnpackedBombs(t *testing.T) {
	spaces := strings.Repeat(" ", 1<<20)
	many := make([]string, 600)
	for i := range many {
		many[i] = spaces
	}
	head := fmt.Sprintf(`{"version":%d,"runs":[`, report.Version)
	for _, tc := range []struct {
		name, want string
		data       []byte
	}{
		{"text", "bytes of gzip unpack to more than", packedText(t, many...)},
		{"runs", "at most 131072 of a file are read", packedText(t, head, strings.Repeat("{},", 9<<20), "{}]}")},
		{"runs by another name", "at most 131072 of a file are read", packedText(t, strings.Replace(head, "runs", "R\\u0075ns", 1), strings.Repeat("{},", 9<<20), "{}]}")},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		in, err := Reader(bytes.NewReader(tc.data))
		if err == nil {
			_, err = report.ReadJSON(in)
		}
		runtime.ReadMemStats(&after)
		if taken := (after.TotalAlloc - before.TotalAlloc) >> 20; taken > 512 {
			t.Errorf("%s: %d bytes took %d MiB", tc.name, len(tc.data), taken)
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want …%s", tc.name, err, tc.want)
		}
	}
}
