package cli

import (
	"fmt"
	"io"
	"sync"
)

// notePrinter prints notes, each once: runs that read the same have the same notes.
type notePrinter struct {
	mutex   sync.Mutex
	printed map[string]bool
}

func (t *notePrinter) print(stderr io.Writer, notes []string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, note := range notes {
		if !t.printed[note] {
			fmt.Fprintf(stderr, "fairlead: %s\n", note)
		}
		if t.printed == nil {
			t.printed = map[string]bool{}
		}
		t.printed[note] = true
	}
}
