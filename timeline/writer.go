package timeline

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"

	"fairlead.dev/fairlead/cluster"
)

// This file is the format: the JSON Array Format of trace events, one event a line, which is written as it comes, so that
// nothing but what is open is in memory. It is chosen over Perfetto's protocol buffers as everybody can read it, and
// no library is needed to write it.

// writer writes events.
type writer struct {
	to   *bufio.Writer
	line []byte
	some bool // an event was written
	err  error
}

// place is where an event is: a process, and a thread in it.
type place struct{ process, thread int }

// moment is a time on a lane.
type moment struct {
	at   place
	time cluster.Time
}

// argument is a fact about an event.
type argument struct {
	key   string
	value any // a string or a number
}

func newWriter(to io.Writer) *writer { return &writer{to: bufio.NewWriterSize(to, 1<<16)} }

// event begins an event of a phase. What is named in it may come from anybody.
func (w *writer) event(phase byte, name string, at place, time cluster.Time) {
	w.line = append(w.line[:0], `{"ph":"`...)
	w.line = append(w.line, phase)
	w.line = append(w.line, `","name":`...)
	w.line = appendText(w.line, name)
	w.number("pid", int64(at.process))
	w.number("tid", int64(at.thread))
	w.number("ts", int64(time))
}

func (w *writer) number(key string, n int64) {
	w.line = append(w.line, ',', '"')
	w.line = append(w.line, key...)
	w.line = append(w.line, '"', ':')
	w.line = strconv.AppendInt(w.line, n, 10)
}

func (w *writer) text(key, value string) {
	w.line = append(w.line, ',', '"')
	w.line = append(w.line, key...)
	w.line = append(w.line, '"', ':')
	w.line = appendText(w.line, value)
}

// end ends the event, with what is to be known of it.
func (w *writer) end(arguments ...argument) {
	if len(arguments) > 0 {
		w.line = append(w.line, `,"args":{`...)
		for i, a := range arguments {
			if i > 0 {
				w.line = append(w.line, ',')
			}
			w.line = append(appendText(w.line, a.key), ':')
			switch v := a.value.(type) {
			case int:
				w.line = strconv.AppendInt(w.line, int64(v), 10)
			case string:
				w.line = appendText(w.line, v)
			}
		}
		w.line = append(w.line, '}')
	}
	w.line = append(w.line, '}')
	separator := "[\n"
	if w.some {
		separator = ",\n"
	}
	w.some = true
	w.write([]byte(separator))
	w.write(w.line)
}

func (w *writer) write(text []byte) {
	if w.err == nil {
		_, w.err = w.to.Write(text)
	}
}

// close ends the array.
func (w *writer) close() error {
	if !w.some {
		w.write([]byte("[\n"))
	}
	w.write([]byte("\n]\n"))
	if w.err == nil {
		w.err = w.to.Flush()
	}
	return w.err
}

// name names a process or a thread of it: process_name, thread_name.
func (w *writer) name(what string, at place, name string) {
	w.event('M', what, at, 0)
	w.end(argument{"name", name})
}

// order says where a process stands among the others.
func (w *writer) order(at place, order int) {
	w.event('M', "process_sort_index", at, 0)
	w.end(argument{"sort_index", order})
}

// slice is something that went on for a while.
func (w *writer) slice(name string, at place, from, to cluster.Time, arguments ...argument) {
	w.event('X', name, at, from)
	w.number("dur", int64(to-from))
	w.end(arguments...)
}

// instant is something that happened at once.
func (w *writer) instant(name string, at place, time cluster.Time, arguments ...argument) {
	w.event('i', name, at, time)
	w.text("s", "t")
	w.end(arguments...)
}

// arrow leads from what was on one lane at a time to what is on another.
func (w *writer) arrow(id int, name string, from, to moment) {
	w.event('s', name, from.at, from.time)
	w.text("cat", name)
	w.number("id", int64(id))
	w.end()
	w.event('f', name, to.at, to.time)
	w.text("cat", name)
	w.text("bp", "e")
	w.number("id", int64(id))
	w.end()
}

// counter says how many there are from now on.
func (w *writer) counter(name string, at place, time cluster.Time, values ...argument) {
	w.event('C', name, at, time)
	w.end(values...)
}

func appendText(line []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic("timeline: a string that is not JSON: " + err.Error())
	}
	return append(line, quoted...)
}
