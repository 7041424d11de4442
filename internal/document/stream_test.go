package document

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestEach: documents come in order with their numbers, those that say nothing are counted, and whatever is wrong ends it.
func TestEach(t *testing.T) {
	refused := errors.New("refused")
	for text, want := range map[string]string{
		"":                          "",
		"---\n---\n":                "",
		"a: 1\n---\nb: [x, 2]\n":    "1 map[a:1], 2 map[b:[x 2]], ",
		"{\"a\": 1}\n":              "1 map[a:1], ",
		"a: 1\n---\n\n---\n3\n":     "1 map[a:1], 3 3, ",
		"a: 1\n---\nstop\n---\n4\n": "1 map[a:1], refused",
		"a: 1\n---\nb: 2\nc\n":      "1 map[a:1], broken: yaml: line 4: could not find expected ':'",
		"a: 1\na: 2\n":              "broken: yaml: unmarshal errors:\n  line 2: mapping key \"a\" already defined at line 1",
	} {
		got := ""
		err := StreamOf([]byte(text)).Each(func(number int, document any) error {
			if document == "stop" {
				return refused
			}
			got += fmt.Sprintf("%d %v, ", number, document)
			return nil
		}, func(err error) error { return fmt.Errorf("broken: %w", err) })
		if err != nil {
			got += err.Error()
		}
		if got != want {
			t.Errorf("of %q\ngot  %q\nwant %q", text, got, want)
		}
	}
}

// endless is one document that does not end.
type endless struct{}

func (endless) Read(to []byte) (int, error) {
	for i := range to {
		to[i] = 'x'
	}
	return len(to), nil
}

// TestStreamIsBounded: many documents may be longer together than one, and one without an end is refused.
func TestStreamIsBounded(t *testing.T) {
	const most = 1 << 16
	read := func(in io.Reader) (documents int, err error) {
		p := &Portion{In: in, Most: most}
		err = NewStream(bufio.NewReader(p), p).Each(func(int, any) error { documents++; return nil }, func(err error) error { return err })
		return documents, err
	}
	many := strings.Repeat("---\na: "+strings.Repeat("x", most/4)+"\n", 100)
	if n, err := read(strings.NewReader(many)); n != 100 || err != nil {
		t.Errorf("read %d documents: %v", n, err)
	}
	if n, err := read(io.MultiReader(strings.NewReader("a: 1\n---\nb: "), endless{})); n != 1 || err == nil || !strings.Contains(err.Error(), "a document of more than 65536 bytes") {
		t.Errorf("read %d documents, and then %v", n, err)
	}
}
