package recording_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"fairlead.dev/fairlead/recording"
)

// hostile is a file that somebody made up, small when it is compressed.
type hostile struct {
	name, text string
	want       string // how the error begins; empty where the file may be replayed
}

func hostileHeader(kinds, lanes int) string {
	text := `{"fairlead":"recording","version":6,"kinds":[` + strings.Repeat(`{"name":"a","per_unit":1},`, kinds)
	text = strings.TrimSuffix(text, ",") + `],"lanes":[` + strings.Repeat(`{"name":"a","policy":"kube","seed":1,"ties":"fixed"},`, lanes)
	return strings.TrimSuffix(text, ",") + "]}\n"
}

// list is a line with so many times the same in a list.
func list(name, what string, times int) string {
	call := "step"
	if name == "in" {
		call = "observe" // which decides nothing, as nothing is recorded
	}
	return `{"call":"` + call + `","` + name + `":[` + strings.TrimSuffix(strings.Repeat(what+",", times), ",") + "]}\n"
}

// hostiles lists the ways in which few bytes become many: by text that compresses well, by
// text that is short for what it means, and by rows, kinds, lanes and sets whose tables
// multiply.
func hostiles() []hostile {
	const job = `{"e":"job","job":0},{"e":"shape","shape":0,"set":0,"demand":[0],"tags":["a"]},{"e":"task","task":0,"seq":1,"job":0,"shape":0},`
	head, million := hostileHeader(1, 1), 1<<20
	node := func(row, kinds int) string {
		return fmt.Sprintf(`{"e":"node","node":%d,"capacity":[%s]}`, row, strings.TrimSuffix(strings.Repeat("0,", kinds), ","))
	}
	lines := func(times int, line func(i int) string) string {
		var b strings.Builder
		for i := range times {
			b.WriteString(line(i))
		}
		return b.String()
	}
	return []hostile{
		{"empty events", head + list("in", "{}", 9*million), `f:2: event 1: unknown event ""`},
		{"events without a size", head + list("in", `{"e":"solver_ready"}`, million), ""},
		{"empty decisions", head + list("out", "{}", 9*million), `f:2: decision 1: unknown decision ""`},
		{"no races", head + list("won", `""`, 9*million), `f:2: race 1: unknown algorithm ""`},
		{"empty calls", head + strings.Repeat(`{"call":"step"}`+"\n", 10_000), ""},
		{"labels", head + list("in", `{"e":"node","node":0,"labels":[`+strings.Repeat("[],", 4*million/3-100)+`[]]}`, 1), ""},
		{"too many labels", head + list("in", `{"e":"node","node":0,"labels":[`+strings.Repeat("[],", 9*million)+`[]]}`, 1), "f:2: event 1 has 28311587 bytes, of which at most 4194304 are read"},
		{"alternatives", head + list("in", `{"e":"constraint","constraint":0,"spec":{"any":[`+strings.Repeat("[],", 4*million/3-100)+`[]]}}`, 1), ""},
		{"bounds", head + list("in", `{"e":"constraint","constraint":0,"spec":{"any":[[`+strings.Repeat("{},", 4*million/3-100)+`{}]]}}`, 1), ""},
		{"a long vector", head + list("in", `{"e":"usage","node":0,"usage":[`+strings.Repeat("0,", 2*million-100)+`0]}`, 1), ""},
		{"unknown fields", head + list("in", `{"e":"left"`+strings.Repeat(`,"x":0`, million/2)+`}`, 1), "f:2: in[0].x: unknown field"},
		{"a long call", head + `{"call":"step"` + strings.Repeat(`,"x":0`, million) + "}\n", "f:2: the call has more than 65536 bytes beside in, out and won"},
		{"a long line", head + strings.Repeat(" ", 80*million), "f:2: the line has more than 67108864 bytes"},
		{"depth", head + strings.Repeat("[", 30*million) + "\n", "f:2: "},
		{"a long header", `{"fairlead":"recording","version":6,"kinds":[` + strings.Repeat("{},", 9*million) + "{}]}\n", "f:1: the line has more than 1048576 bytes"},
		{"a wild node of many kinds", hostileHeader(1000, 1) + list("in", node(1<<20, 1000), 1), ""},
		{"the last node of many kinds", hostileHeader(1000, 1) + list("in", node(4000, 1000), 1), ""},
		{"a wild task", head + list("in", job+`{"e":"task","task":`+fmt.Sprint(1<<27)+`,"seq":2,"job":0,"shape":0}`, 1), ""},
		{"the last task", head + list("in", job+`{"e":"task","task":262000,"seq":2,"job":0,"shape":0}`, 1) + `{"call":"begin"}` + "\n", ""},
		{"many lanes", hostileHeader(1, 250) + list("in", job+`{"e":"task","task":262000,"seq":2,"job":0,"shape":0}`, 1) +
			lines(250, func(i int) string { return fmt.Sprintf(`{"call":"begin","lane":%d}`+"\n", i) }), "f:2: a core with 250 lanes over rows for "},
		{"many sets", head + list("in", node(131_000, 1), 1) +
			lines(200_000, func(i int) string { return list("in", fmt.Sprintf(`{"e":"set","set":%d,"nodes":[131000]}`, i+1), 1) }), "f:"},
		{"many empty sets", head + list("in", node(131_000, 1), 1) +
			lines(20_000, func(i int) string { return list("in", fmt.Sprintf(`{"e":"set","set":%d}`, i+1), 1) }), ""},
		{"many constraints", head + list("in", job+node(131_000, 1), 1) +
			lines(2000, func(i int) string {
				return list("in", fmt.Sprintf(`{"e":"constraint","constraint":%d,"spec":{"hard":true,"any":[[{"subject":["a"],"target":["a"],"group":"node"}]]}}`, i), 1)
			}) + list("in", `{"e":"found","task":0,"seq":1,"node":131000}`, 1), "f:"},
	}
}

// TestBoundedMemory replays hostile files. None takes more than a gibibyte and a half, counted
// in all that was ever allocated; the race detector allocates up to twice as much.
func TestBoundedMemory(t *testing.T) {
	most := uint64(3 << 29)
	if raceDetector {
		most *= 2
	}
	for _, h := range hostiles() {
		data := zip(h.text)
		h.text = ""
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := recording.Replay(bytes.NewReader(data), "f", build)
		runtime.ReadMemStats(&after)
		taken := after.TotalAlloc - before.TotalAlloc
		t.Logf("%s: %d bytes, took %d MiB: %.200v", h.name, len(data), taken>>20, err)
		if taken > most {
			t.Errorf("%s: %d bytes took %d MiB", h.name, len(data), taken>>20)
		}
		if h.want == "" && err != nil || h.want != "" && (err == nil || !strings.HasPrefix(err.Error(), h.want)) {
			t.Errorf("%s: %v, want %s…", h.name, err, h.want)
		}
	}
}

// TestWideWindow: text that was compressed with a window beyond all that a Writer uses is
// refused before the window is made.
func TestWideWindow(t *testing.T) {
	for window, want := range map[int]string{8 << 20: "", 64 << 20: "f:1: window size exceeded: reading takes a window of at most 8388608 bytes"} {
		var b bytes.Buffer
		z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := z.Write([]byte(hostileHeader(1, 1))); err != nil {
			t.Fatal(err)
		}
		if err := z.Flush(); err != nil { // so that the size is not known at the beginning
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		_, err = recording.Describe(&b, "f")
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("a window of %d: %v, want %q", window, err, want)
		}
	}
}
