package recording_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/policies"
	"fairlead.dev/fairlead/recording"
	"fairlead.dev/fairlead/sched"
)

// record lets a world live, and returns the files of its recording.
func record(tb testing.TB, policy string, seed uint64, turns int) (*world, []string) {
	tb.Helper()
	dir := tb.TempDir()
	h := header(policy, seed)
	to, err := recording.NewWriter(dir, h, recording.Limits{})
	if err != nil {
		tb.Fatal(err)
	}
	w := newWorld(tb, h, to, seed)
	for range turns {
		w.turn()
	}
	if err := to.Close(); err != nil {
		tb.Fatal(err)
	}
	files, err := recording.Files(dir)
	if err != nil || len(files) != 1 {
		tb.Fatalf("files %v, %v; want one", files, err)
	}
	return w, files
}

func read(tb testing.TB, file string) []byte {
	tb.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// TestReplaysEveryPolicy records random worlds, in which rounds run inside
// steps and beside the world, and wants the same decisions of a replay.
func TestReplaysEveryPolicy(t *testing.T) {
	seen := map[string]int{}
	for _, p := range policies.All().Of(policies.Queue) {
		for seed := range uint64(4) {
			w, files := record(t, p.Name, seed, 250)
			result, err := recording.Replay(bytes.NewReader(read(t, files[0])), files[0], build)
			if err != nil {
				t.Fatalf("%s, seed %d: %v", p.Name, seed, err)
			}
			if result.Difference != nil || result.Cut != "" {
				t.Fatalf("%s, seed %d: %v %s", p.Name, seed, result.Difference, result.Cut)
			}
			if counts := w.core.Counts(); result.Decisions() < 20 || result.Placements < int(counts.Placed)/2 {
				t.Errorf("%s, seed %d: %d decisions were recorded, the core made %+v", p.Name, seed, result.Decisions(), counts)
			}
			if result.Rounds != w.seen["finish"] {
				t.Errorf("%s, seed %d: %d rounds are counted, %d ended", p.Name, seed, result.Rounds, w.seen["finish"])
			}
			for what, n := range w.seen {
				seen[what] += n
			}
			seen["eviction"] += result.Evictions
			seen["round"] += result.Rounds
			seen["wrong"] += result.Wrong
			described, err := recording.Describe(bytes.NewReader(read(t, files[0])), files[0])
			result.Wrong = 0
			if got, want := fmt.Sprintf("%+v", described), fmt.Sprintf("%+v", result); err != nil || got != want {
				t.Errorf("described as %s, %v; want %s", got, err, want)
			}
		}
	}
	for _, what := range []string{"step", "observe", "finish", "round", "eviction", "resize", "end", "wrong"} {
		if seen[what] < 20 {
			t.Errorf("%d times %s; the worlds are dull", seen[what], what)
		}
	}
	for _, e := range recording.Samples() {
		if name := fmt.Sprintf("%T", e); seen[name] == 0 {
			t.Errorf("no %s happened", name)
		}
	}
}

// TestFindsPlantedDifferences replays with another seed or another policy than
// the header says, and with a decision that was changed in the file.
func TestFindsPlantedDifferences(t *testing.T) {
	_, files := record(t, "random", 1, 150)
	data := read(t, files[0])
	for name, plant := range map[string]func(*recording.Lane){
		"seed":   func(l *recording.Lane) { l.Seed++ },
		"policy": func(l *recording.Lane) { l.Policy = "priority" },
	} {
		result, err := recording.Replay(bytes.NewReader(data), "f", func(l recording.Lane) (sched.Policy, error) {
			plant(&l)
			return build(l)
		})
		if err != nil || result.Difference == nil {
			t.Errorf("another %s: %v, %v; want a difference", name, result.Difference, err)
		}
	}
	text := unzip(t, data)
	at := strings.LastIndex(text[:strings.LastIndex(text, `{"d":`)], `{"d":`)
	changed := text[:at] + strings.Replace(text[at:], `"node":`, `"node":1`, 1)
	result, err := recording.Replay(bytes.NewReader(zip(changed)), "f", build)
	if err != nil || result.Difference == nil {
		t.Fatalf("a changed decision: %v, %v; want a difference", result.Difference, err)
	}
	line := 1 + strings.Count(text[:at], "\n")
	if d := result.Difference; d.Line != line || d.Recorded == d.Replayed || !strings.HasPrefix(d.String(), fmt.Sprintf("f:%d: ", line)) {
		t.Errorf("line %d was changed, found\n%v", line, d)
	}
	cut := text[:at-1]
	cut = cut[:strings.LastIndexByte(cut, '\n')+1] + `{"call":"step","at":` + fmt.Sprint(int64(result.Difference.At)) + `,"out":[{"d":"evict","task":999,"seq":7,"attempt":1,"node":99}]}` + "\n"
	result, err = recording.Replay(bytes.NewReader(zip(cut)), "f", build)
	if err != nil || result.Difference == nil || !strings.Contains(result.Difference.String(), "recorded: evict task row 999, seq 7, from node row 99, attempt 1") {
		t.Errorf("an invented decision: %v, %v", result.Difference, err)
	}
}

func unzip(tb testing.TB, data []byte) string {
	tb.Helper()
	d, err := zstd.NewReader(bytes.NewReader(data))
	if err != nil {
		tb.Fatal(err)
	}
	defer d.Close()
	text, err := io.ReadAll(d)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

func zip(text string) []byte {
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(zstd.MinWindowSize), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err == nil {
		_, err = z.Write([]byte(text))
	}
	if err = errors.Join(err, z.Close()); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// TestCutAnywhere cuts a file off at each byte: what was flushed before is
// replayed, and the cut is reported.
func TestCutAnywhere(t *testing.T) {
	dir := t.TempDir()
	h := header("kube", 1)
	to, err := recording.NewWriter(dir, h, recording.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, h, to, 1)
	type mark struct {
		size  int64
		calls int
	}
	var flushed []mark
	file := func() string { files, _ := recording.Files(dir); return files[0] }
	calls := func() int {
		result, err := recording.Describe(bytes.NewReader(read(t, file())), "f")
		if err != nil {
			t.Fatal(err)
		}
		return result.Calls
	}
	for range 6 {
		for range 4 {
			w.turn()
		}
		if err := to.Flush(); err != nil {
			t.Fatal(err)
		}
		flushed = append(flushed, mark{int64(len(read(t, file()))), calls()})
		if to.Bytes() != flushed[len(flushed)-1].size {
			t.Errorf("%d bytes were written, the file has %d", to.Bytes(), flushed[len(flushed)-1].size)
		}
	}
	if flushed[3].calls < 10 {
		t.Fatalf("only %d calls were readable after a flush", flushed[3].calls)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	whole := read(t, file())
	for size := 0; size < len(whole); size += 3 {
		result, err := recording.Replay(bytes.NewReader(whole[:size]), "f", build)
		if err != nil {
			if !strings.Contains(err.Error(), "header is complete") && !strings.Contains(err.Error(), "is empty") || size > 1000 {
				t.Fatalf("cut at %d of %d: %v", size, len(whole), err)
			}
			continue
		}
		if result.Cut == "" || result.Difference != nil {
			t.Fatalf("cut at %d of %d: reported %q, %v", size, len(whole), result.Cut, result.Difference)
		}
		for _, m := range flushed {
			if m.size <= int64(size) && result.Calls < m.calls {
				t.Fatalf("cut at %d of %d: %d calls, %d were flushed before", size, len(whole), result.Calls, m.calls)
			}
		}
	}
}

// TestOlderVersions reads files of the versions before this one, which lack some
// names and mean the same by all others.
func TestOlderVersions(t *testing.T) {
	_, files := record(t, "kube", 1, 0)
	for _, version := range []string{`"version":2`, `"version":3`, `"version":4`, `"version":5`, `"version":6`, `"version":7`, `"version":8`, `"version":9`, `"version":10`} {
		text := strings.Replace(unzip(t, read(t, files[0])), `"version":11`, version, 1)
		const now, before = `"options":{"tie_break":"random"}`, `"ties":"random"`
		if !strings.Contains(text, now) {
			t.Fatalf("no lane has %s", now)
		}
		text = strings.NewReplacer(now, before, strings.Replace(now, "random", "fixed", 1), strings.Replace(before, "random", "fixed", 1)).Replace(text)
		result, err := recording.Replay(bytes.NewReader(zip(text)), "f", build)
		if err != nil || result.Difference != nil || result.Calls == 0 {
			t.Errorf("%s: %+v, %v", version, result, err)
		}
	}
}

// TestBadInput: what is wrong is said with file, line and what was expected.
func TestBadInput(t *testing.T) {
	const head = `{"fairlead":"recording","version":11,"kinds":[{"name":"cpu","per_unit":1}],"lanes":[{"name":"a","policy":"kube","seed":1,"ties":"fixed"}]}` + "\n"
	for _, tc := range []struct{ text, want string }{
		{"", "f:0: the file is empty"},
		{"hello\n", "f:1: this is no recording"},
		{`{"fairlead":"trace","version":1}` + "\n", "f:1: this is no recording"},
		{strings.Replace(head, `"version":11`, `"version":1`, 1), "f:1: the recording has version 1, and this program reads versions 2 to 11"},
		{strings.Replace(head, `"version":11`, `"version":12`, 1), "f:1: the recording has version 12, and this program reads versions 2 to 11"},
		{strings.Replace(head, `"lanes"`, `"colour":1,"lanes"`, 1), `f:1: header: colour: unknown field; there are classes, comment, fairlead, kinds, lanes, origin, spec, version`},
		{strings.Replace(head, `"per_unit"`, `"perunit"`, 1), `f:1: header: kinds[0].perunit: unknown field; did you mean per_unit?`},
		{strings.Replace(head, `"seed"`, `"sede"`, 1), `f:1: header: lanes[0].sede: unknown field; did you mean seed?`},
		{strings.Replace(head, `{"name":"cpu","per_unit":1}`, ``, 1), "f:1: header: 0 kinds"},
		{strings.Replace(head, `"per_unit":1`, `"per_unit":0,"devices":true`, 1), "f:1: header: kind cpu comes in devices of 0, want at least 1"},
		{strings.Replace(head, `{"name":"cpu","per_unit":1}`, strings.Repeat(`{"name":"a","per_unit":1,"devices":true},`, 64)+`{"name":"b","per_unit":1,"devices":true}`, 1), "f:1: header: 65 kinds come in devices"},
		{strings.Replace(head, `"seed":1`, `"seed":1,"heartbeat":-5`, 1), "f:1: header: lane \"a\" has heartbeat -5"},
		{strings.Replace(head, `"version":11`, `"version":11,"origin":"noon"`, 1), `f:1: header: origin "noon" is no time`},
		{strings.Replace(head, `"policy":"kube"`, `"policy":"cube"`, 1), `f: unknown policy "cube"`},
		{head + "{\n", "f:2: unexpected EOF"},
		{head + `{"call":"step"} {}` + "\n", "f:2: there is more behind"},
		{head + `{"call":"dance"}` + "\n", `f:2: unknown call "dance"`},
		{head + `{"call":"step","at":-1}` + "\n", "f:2: at -1, want a time from 0"},
		{head + `{"call":"step","at":1e99}` + "\n", "f:2: json: cannot unmarshal"},
		{head + `{"call":"step","mood":1}` + "\n", `f:2: mood: unknown field; there are at, budget, call, given_up, in, lane, out, won`},
		{head + `{"call":"step","in":[{"e":"left","task":0,"attempt":1},{"e":"ended","tsak":0}]}` + "\n", `f:2: in[1].tsak: unknown field; did you mean task?`},
		{head + `{"call":"step","out":[{"d":"place","nodee":0}]}` + "\n", `f:2: out[0].nodee: unknown field; did you mean node?`},
		{head + `{"call":"step"}` + "\n" + `{"call":"snapshot"}` + "\n", "f:3: a snapshot stands behind other calls"},
		{head + `{"call":"begin","lane":1}` + "\n", "f:2: lane 1 of 1"},
		{head + `{"call":"finish"}` + "\n", "f:2: finish of lane 0, whose round is in flight: false"},
		{head + `{"call":"begin"}` + "\n" + `{"call":"begin"}` + "\n", "f:3: begin of lane 0, whose round is in flight: true"},
		{head + `{"call":"begin","in":[{"e":"left","task":1,"attempt":1}]}` + "\n", "f:2: begin takes no events"},
		{head + `{"call":"more","in":[{"e":"left","task":1,"attempt":1}]}` + "\n" + `{"call":"begin"}` + "\n", "f:3: begin takes no events"},
		{head + `{"call":"begin","out":[{"d":"place"}]}` + "\n", "f:2: begin makes no decisions"},
		{head + `{"call":"begin","won":["auction"]}` + "\n", "f:2: begin runs no races"},
		{head + `{"call":"step","won":["auction","chance"]}` + "\n", `f:2: race 2: unknown algorithm "chance"; there are [incremental auction`},
		{head + `{"call":"step","in":[{"e":"rain"}]}` + "\n", `f:2: event 1: unknown event "rain"`},
		{head + `{"call":"step","in":[{"e":"left","task":1,"attempt":1},{"e":"started","task":1,"attempt":1}]}` + "\n", `f:2: event 2: event "started" has no node`},
		{head + `{"call":"step","in":[{"e":"left","task":-1,"attempt":1}]}` + "\n", "f:2: json: cannot unmarshal"},
		{head + `{"call":"step","in":[{"e":"task","task":0,"seq":1,"job":0,"shape":0,"input":[[5],[]]}]}` + "\n", `f:2: event 1: event "task": block 1 of the input: 0 numbers, want its bytes and at most 3 nodes`},
		{head + `{"call":"step","in":[{"e":"task","task":0,"seq":1,"job":0,"shape":0,"input":[[5,1,2,3,4]]}]}` + "\n", `f:2: event 1: event "task": block 0 of the input: 5 numbers`},
		{head + `{"call":"step","in":[{"e":"task","task":0,"seq":1,"job":0,"shape":0,"input":[[5,-1]]}]}` + "\n", `f:2: event 1: event "task": block 0 of the input: -1 is no row of a node`},
		{head + `{"call":"step","in":{"e":"left"}}` + "\n", "f:2: in, out and won want a list, and each stands once"},
		{head + `{"call":"step","in":[],"in":[]}` + "\n", "f:2: in, out and won want a list, and each stands once"},
		{head + `{"call":"step","out":[{"d":"dance","task":1}]}` + "\n", `f:2: decision 1: unknown decision "dance"`},
	} {
		_, err := recording.Replay(bytes.NewReader(zip(tc.text)), "f", build)
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%q:\n %v\n want %s…", tc.text, err, tc.want)
		}
	}
	_, files := record(t, "kube", 1, 60)
	data := read(t, files[0])
	found := 0
	for at := 20; at < len(data); at += 7 { // a byte that was flipped on a disk
		broken := bytes.Clone(data)
		broken[at] ^= 0x55
		if result, err := recording.Replay(bytes.NewReader(broken), "f", build); err != nil || result.Difference != nil || result.Cut != "" {
			found++
		}
	}
	if whole := len(data) / 7; found < whole*9/10 {
		t.Errorf("%d of %d flipped bytes were noticed", found, whole)
	}
}

// TestChangedText changes a recording here and there, mostly in its numbers,
// and wants an error or a result of it, whatever it says by then.
func TestChangedText(t *testing.T) {
	_, files := record(t, "priority", 3, 40)
	text := unzip(t, read(t, files[0]))
	chance := rand.New(rand.NewPCG(1, 1))
	played := 0
	for range 300 {
		all := policies.All().Of(policies.Queue)
		policy := all[chance.IntN(len(all))].Name
		b := []byte(strings.ReplaceAll(text, `"policy":"priority"`, `"policy":"`+policy+`"`))
		for range 1 + chance.IntN(12) {
			switch i := chance.IntN(len(b)); {
			case b[i] >= '0' && b[i] <= '9' && chance.IntN(2) == 0:
				b[i] = byte('0' + chance.IntN(10))
			case b[i] >= '0' && b[i] <= '9':
				b = slices.Insert(b, i, fmt.Append(nil, chance.IntN(1<<chance.IntN(40)))...)
			case chance.IntN(200) == 0:
				b[i] ^= 1
			}
		}
		result, err := recording.Replay(bytes.NewReader(zip(string(b))), "f", build)
		if err == nil && result.Calls > 20 {
			played++
		}
	}
	if played < 30 {
		t.Errorf("only %d changed recordings could be played for a while", played)
	}
}

// TestRotation: a full file is followed by the next, the oldest go, and another
// writer goes on behind them.
func TestRotation(t *testing.T) {
	dir := t.TempDir()
	h := header("kube", 1)
	to, err := recording.NewWriter(dir, h, recording.Limits{FileBytes: 2000, Files: 3})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, h, to, 1)
	for epoch := uint64(2); epoch < 6; {
		w.turn()
		if err := to.Flush(); err != nil {
			t.Fatal(err)
		}
		if to.Full() {
			if err := to.Rotate(h); err != nil {
				t.Fatal(err)
			}
			w = newWorld(t, h, to, epoch)
			epoch++
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	if to, err = recording.NewWriter(dir, h, recording.Limits{Files: 3}); err != nil {
		t.Fatal(err)
	}
	newWorld(t, h, to, 9).turn()
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := recording.Files(dir)
	if err != nil || len(files) != 3 || !strings.HasSuffix(files[2], "recording-000006.jsonl.zst") {
		t.Fatalf("files %v, %v; want the three newest, to 6", files, err)
	}
	for _, file := range files {
		if result, err := recording.Replay(bytes.NewReader(read(t, file)), file, build); err != nil || result.Difference != nil || result.Calls < 1 {
			t.Errorf("%s: %d calls, %v, %v", file, result.Calls, result.Difference, err)
		}
	}
}

// TestLongCallsAreSplit: the events of one call may fill several lines, and are
// one call for all that.
func TestLongCallsAreSplit(t *testing.T) {
	dir := t.TempDir()
	h := header("kube", 1)
	to, err := recording.NewWriter(dir, h, recording.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	core := recording.NewRecorder(newCore(t, h), to)
	in := []cluster.Event{
		cluster.JobSubmitted{Job: 0},
		cluster.ShapeDefined{Spec: cluster.Shape{Demand: cluster.Vector{1, 1}}},
		cluster.NodeAdded{Node: 0, Spec: cluster.NodeSpec{Capacity: cluster.Vector{10, 10}}},
	}
	for i := range 40_000 {
		in = append(in, cluster.TaskSubmitted{Task: cluster.TaskID(i), Seq: cluster.Seq(i)})
	}
	if _, err := core.Snapshot(0, in, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := core.Step(1, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := recording.Files(dir)
	result, err := recording.Replay(bytes.NewReader(read(t, files[0])), "f", build)
	if err != nil || result.Difference != nil || result.Calls != 2 || result.Events != len(in) || result.Placements != 10 {
		t.Errorf("%+v, %v", result, err)
	}
	text := unzip(t, read(t, files[0]))
	text = text[:strings.Index(text, `{"call":"snapshot"`)]
	result, err = recording.Replay(bytes.NewReader(zip(text)), "f", build)
	if err != nil || result.Calls != 0 || !strings.Contains(result.Cut, "ends within a call") {
		t.Errorf("without the end of the call: %d calls, cut %q, %v", result.Calls, result.Cut, err)
	}
	if lines := strings.Count(unzip(t, read(t, files[0])), "\n"); lines < 4 {
		t.Errorf("%d lines; nothing was split", lines)
	}
}

// TestDiskTrouble: what cannot be written stops nothing, and is said.
func TestDiskTrouble(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/taken", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := recording.NewWriter(dir+"/taken", header("kube", 1), recording.Limits{}); err == nil {
		t.Error("a file was taken for a directory")
	}
	if _, err := recording.NewWriter(dir, recording.Header{}, recording.Limits{}); err == nil || !strings.Contains(err.Error(), "0 kinds") {
		t.Errorf("a header without kinds: %v", err)
	}
	to, err := recording.NewWriter(dir, header("kube", 1), recording.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, header("kube", 1), to, 1)
	if err := os.WriteFile(dir+"/recording-000002.jsonl.zst", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := to.Rotate(header("kube", 1)); err == nil {
		t.Error("a file of somebody else's was overwritten")
	}
	w.turn()
	if err := to.Flush(); err == nil {
		t.Error("nothing was written, and nobody said so")
	}
	if err := to.Close(); err == nil {
		t.Error("nothing was written, and nobody said so at the end")
	}
	if err := to.Rotate(header("kube", 1)); err != nil {
		t.Errorf("the next file: %v", err)
	}
	newWorld(t, header("kube", 1), nil, 1).turn() // nowhere to write
}

// TestReplayTo replays up to each of some moments, and wants the state of then.
func TestReplayTo(t *testing.T) {
	_, files := record(t, "kube", 1, 250)
	data := read(t, files[0])
	whole, err := recording.Replay(bytes.NewReader(data), "f", build)
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for part := range cluster.Time(11) {
		at := whole.First + (whole.Last-whole.First)*part/10
		result, core, err := recording.ReplayTo(bytes.NewReader(data), "f", at, build)
		if err != nil || result.Difference != nil {
			t.Fatal(err, result.Difference)
		}
		if now := core.View().Now(); now > at || now != result.Last {
			t.Errorf("up to %v: the core is at %v, the last call was at %v", at, now, result.Last)
		}
		if result.Calls <= calls {
			t.Errorf("up to %v: %d calls, no more than before", at, result.Calls)
		}
		calls = result.Calls
	}
	if calls != whole.Calls {
		t.Errorf("up to the end there are %d calls, want %d", calls, whole.Calls)
	}
}
