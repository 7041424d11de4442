package testbed

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Images are made here, because a machine that develops may not reach a
// registry: one layer with one static program, as the OCI image specification
// 1.1 has it (manifest.md, config.md; image-layout.md for the file that is
// imported).

// image is its blobs by digest, and which of them is the manifest.
type image struct {
	name     string // with registry and tag
	manifest descriptor
	blobs    map[string][]byte
}

// descriptor points to a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// newImage makes an image that runs the program. The ballast is that many bytes
// of a second file, which no other image has and which compress to half, as
// programs do.
func newImage(name string, program []byte, ballast int) (image, error) {
	i := image{name: name, blobs: map[string][]byte{}}
	layer, diff, err := newLayer(program, ballast)
	if err != nil {
		return image{}, fmt.Errorf("test bed: pack image %s: %w", name, err)
	}
	config, err := i.addJSON(configType, map[string]any{
		"os": "linux", "architecture": runtime.GOARCH,
		"config": map[string]any{"Entrypoint": []string{"/sleeper"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{diff}},
	})
	if err != nil {
		return image{}, err
	}
	i.manifest, err = i.addJSON(manifestType, map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": config, "layers": []descriptor{i.add(layerType, layer)},
	})
	return i, err
}

// newLayer returns the layer and the digest of what it unpacks to.
func newLayer(program []byte, ballast int) (layer []byte, diff string, err error) {
	random := make([]byte, ballast/2)
	_, _ = rand.Read(random) // It never fails.
	plain, packed := sha256.New(), &bytes.Buffer{}
	// A digit in hexadecimal carries half a byte, which is all that Huffman's
	// code needs to see.
	zip, err := gzip.NewWriterLevel(packed, gzip.HuffmanOnly)
	if err != nil {
		return nil, "", err
	}
	files := tar.NewWriter(io.MultiWriter(plain, zip))
	if err := writeFile(files, "sleeper", 0o755, program); err != nil {
		return nil, "", err
	}
	if err := writeFile(files, "ballast", 0o644, []byte(hex.EncodeToString(random))); err != nil {
		return nil, "", err
	}
	if err := files.Close(); err != nil {
		return nil, "", err
	}
	if err := zip.Close(); err != nil {
		return nil, "", err
	}
	return packed.Bytes(), "sha256:" + hex.EncodeToString(plain.Sum(nil)), nil
}

func writeFile(w *tar.Writer, name string, mode int64, content []byte) error {
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(content))}); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}

func (i image) add(mediaType string, blob []byte) descriptor {
	sum := sha256.Sum256(blob)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	i.blobs[digest] = blob
	return descriptor{MediaType: mediaType, Digest: digest, Size: len(blob)}
}

func (i image) addJSON(mediaType string, value any) (descriptor, error) {
	blob, err := json.Marshal(value)
	if err != nil {
		return descriptor{}, fmt.Errorf("test bed: write the %s of image %s: %w", mediaType, i.name, err)
	}
	return i.add(mediaType, blob), nil
}

// writeLayout writes the image as an archive that `ctr images import` reads.
func (i image) writeLayout(path string) (err error) {
	root := i.manifest
	// Two keys, because the specification's is for the tag alone.
	root.Annotations = map[string]string{
		"io.containerd.image.name":          i.name,
		"org.opencontainers.image.ref.name": i.name,
	}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "manifests": []descriptor{root}})
	if err != nil {
		return fmt.Errorf("test bed: write the index of image %s: %w", i.name, err)
	}
	files := map[string][]byte{"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`), "index.json": index}
	for digest, blob := range i.blobs {
		files["blobs/"+strings.Replace(digest, ":", "/", 1)] = blob
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := writeFile(w, name, 0o644, files[name]); err != nil {
			return fmt.Errorf("test bed: pack image %s: %w", i.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("test bed: pack image %s: %w", i.name, err)
	}
	if err := os.WriteFile(path, archive.Bytes(), 0o600); err != nil {
		return fmt.Errorf("test bed: write image %s: %w", i.name, err)
	}
	return nil
}

// buildSleeper compiles what containers run. It is not kept with the other
// programs, whose folder is named after versions and not after our sources, and
// takes a second.
func buildSleeper(ctx context.Context, dir string) ([]byte, error) {
	s, err := findSource(ctx)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "sleeper")
	c := goCommand(ctx, s.module, "build", "-ldflags", "-s -w", "-o", path, "./testbed/sleeper")
	// Static: there are no libraries in the image.
	c.Env = append(c.Env, "CGO_ENABLED=0")
	if err := output(c); err != nil {
		return nil, fmt.Errorf("test bed: build what containers run: %w", err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("test bed: read what containers run: %w", err)
	}
	return program, nil
}

// output runs a command and quotes what it printed if it fails.
func output(c *exec.Cmd) error {
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w %s", strings.Join(c.Args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}
