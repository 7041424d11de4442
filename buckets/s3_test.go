package buckets_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"fairlead.dev/fairlead/buckets"
	"fairlead.dev/fairlead/sweep"
)

// serve serves S3 from memory, with a bucket that is called results, and has the environment name it.
func serve(t *testing.T) {
	t.Helper()
	backend := s3mem.New()
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	if err := backend.CreateBucket("results"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
}

// text writes a text.
func text(s string) func(io.Writer) error {
	return func(to io.Writer) error {
		_, err := io.WriteString(to, s)
		return err
	}
}

// TestBucket: what is written is read, more than one page of names is listed, and what is not there is said to be.
func TestBucket(t *testing.T) {
	serve(t)
	ctx := t.Context()
	b, err := buckets.Open(ctx, "s3://results/a/study/")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sweep.ReadFile(ctx, b, "sweep.json"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "s3://results/a/study/sweep.json") {
		t.Errorf("what is not there: %v", err)
	}
	const objects = 1100
	for i := range objects {
		if err := b.Write(ctx, fmt.Sprintf("runs/%04d.json", i), text(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	broken := errors.New("broken")
	if err := b.Write(ctx, "runs/0007.json", func(io.Writer) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("writing said %v", err)
	}
	if got, err := sweep.ReadFile(ctx, b, "runs/0007.json"); string(got) != "7" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
	names, err := b.List(ctx, "runs/")
	if slices.Sort(names); err != nil || len(names) != objects || names[7] != "runs/0007.json" {
		t.Errorf("there are %d names, %v", len(names), err)
	}
	other, err := buckets.Open(ctx, "s3://results/another")
	if err != nil {
		t.Fatal(err)
	}
	if names, err := other.List(ctx, "runs/"); len(names) > 0 || err != nil {
		t.Errorf("another folder holds %v, %v", names, err)
	}
}

// TestOpenMistakes: what names no bucket is refused, and so is a bucket that is not there.
func TestOpenMistakes(t *testing.T) {
	serve(t)
	for text, want := range map[string]string{
		"s3://":              "want s3://BUCKET/FOLDER",
		"s3://results?x=y":   "want s3://BUCKET/FOLDER",
		"gs://results/study": "want s3://BUCKET/FOLDER",
		"s3://another/study": "there is no such bucket; make it first",
	} {
		if _, err := buckets.Open(t.Context(), text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	t.Setenv("AWS_ENDPOINT_URL", "s3.example")
	if _, err := buckets.Open(t.Context(), "s3://results/x"); err == nil || !strings.Contains(err.Error(), "want a URL such as https://s3.example") {
		t.Errorf("an endpoint that is no URL: %v", err)
	}
}

// TestSweep: shards that keep their runs in a bucket are gathered to the same set as a sweep in a folder.
func TestSweep(t *testing.T) {
	serve(t)
	command := filepath.Join(t.TempDir(), "fairlead")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", command, "./cmd/fairlead").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Chdir(t.TempDir())
	study := "spec: {source: {cluster: 'synthetic:google?nodes=5&tasks-per-node=4'}, limits: {until: 2m}}\npolicies: [kube, random]\nseeds: 1-3\n"
	if err := os.WriteFile("study.yaml", []byte(study), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(words ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), command, words...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v: %s", words, err, out)
		}
		return string(out)
	}
	run("sweep", "study.yaml")
	run("sweep", "study.yaml", "--dir", "s3://results/study", "--shard", "0/2")
	run("sweep", "study.yaml", "--dir", "s3://results/study", "--shard", "1/2")
	if out := run("sweep", "study.yaml", "--dir", "s3://results/study", "--shard", "1/2"); !strings.Contains(out, "of which 3 are done already") {
		t.Errorf("once more said %s", out)
	}
	run("sweep", "merge", "s3://results/study", "--into", "gathered")
	want, err := os.ReadFile("study/results.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile("gathered/results.jsonl"); err != nil || !bytes.Equal(got, want) || len(want) == 0 {
		t.Errorf("of the bucket the set has %d bytes, of the folder %d, %v", len(got), len(want), err)
	}
}
