package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// An image of a small program, on packages that are made here: the same for two platforms, built twice, at another time and in another folder.
func TestImage(t *testing.T) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("this machine has no dpkg-deb to read packages with")
	}
	first, second := buildImage(t), buildImage(t)
	for _, name := range []string{"image.tar", "sbom/sleeper-linux-amd64.spdx.json", "sbom/sleeper-linux-arm64.spdx.json", "sbom/sleeper-index.spdx.json"} {
		if !bytes.Equal(read(t, first, name), read(t, second, name)) {
			t.Errorf("%s differs from one build to the next", name)
		}
	}
	if sbom := read(t, first, "sbom/sleeper-linux-arm64.spdx.json"); !bytes.Contains(sbom, []byte("fairlead.dev/fairlead/kube")) {
		t.Errorf("the SPDX document does not name the program's module:\n%s", sbom)
	}
	for platform, image := range images(t, first) {
		t.Run(strings.ReplaceAll(platform, "/", "-"), func(t *testing.T) { checkImage(t, platform, image) })
	}
}

// checkImage: who runs it, what is in it.
func checkImage(t *testing.T, platform string, image v1.Image) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if is := config.OS + "/" + config.Architecture; is != platform {
		t.Errorf("the image for %s says %s", platform, is)
	}
	if config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, []string{"/ko-app/sleeper"}) || !config.Created.IsZero() {
		t.Errorf("user %q, entry point %q, created %v", config.Config.User, config.Config.Entrypoint, config.Created)
	}
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if note := manifest.Annotations["dev.fairlead.base.tzdata"]; !strings.HasPrefix(note, "2026a sha256:") {
		t.Errorf("the version of tzdata is %q", note)
	}
	flat := mutate.Extract(image)
	defer flat.Close()
	files := map[string]string{}
	for r := tar.NewReader(flat); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(time.Unix(0, 0)) || h.Uid != 0 || h.Mode&0o022 != 0 && h.Name != "tmp" && h.Name != "tmp/" && h.Typeflag != tar.TypeSymlink {
			t.Errorf("%s is of %v, of user %d, with the mode %o", h.Name, h.ModTime, h.Uid, h.Mode)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.Trim(h.Name, "/")] = string(content)
	}
	for name, want := range map[string]string{
		"etc/ssl/certs/ca-certificates.crt": "-----BEGIN CERTIFICATE-----\na\n-----BEGIN CERTIFICATE-----\nb\n",
		"etc/services":                      "https 443/tcp\n",
		"usr/share/zoneinfo/Etc/UTC":        "TZif\n",
		"usr/share/zoneinfo/UTC":            "TZif\n", // a hard link there
		"usr/share/doc/tzdata/copyright":    "public domain\n",
	} {
		if got, has := files[name]; got != want {
			t.Errorf("%s is %q, which is there: %t; want %q", name, got, has, want)
		}
	}
	if !strings.Contains(files["var/lib/dpkg/status.d/tzdata"], "Version: 2026a\n") || !strings.Contains(files["etc/passwd"], "nonroot:x:65532:65532:") {
		t.Errorf("of dpkg %q, users %q", files["var/lib/dpkg/status.d/tzdata"], files["etc/passwd"])
	}
	for name := range files {
		if strings.HasPrefix(name, "usr/bin") || strings.HasPrefix(name, "usr/sbin") {
			t.Errorf("there is /%s, which could be run", name)
		}
	}
}

// TestPackagesAreComplete: a package that is missing, or is another one, is no base.
func TestPackagesAreComplete(t *testing.T) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("this machine has no dpkg-deb to read packages with")
	}
	for want, spoil := range map[string]func(dir string) error{
		"0 files netbase_*.deb": func(dir string) error { return os.Remove(filepath.Join(dir, "netbase_1.deb")) },
		"it is the package tzdata": func(dir string) error {
			return os.Rename(filepath.Join(dir, "tzdata_1.deb"), filepath.Join(dir, "netbase_1.deb"))
		},
		"dpkg-deb": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "tzdata_1.deb"), []byte("no package"), 0o600)
		},
	} {
		dir := packages(t)
		if err := spoil(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := readPackages(t.Context(), dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
	if _, err := layerOf([]debianPackage{{name: "tzdata"}}); err == nil || !strings.Contains(err.Error(), "has a new version moved it?") {
		t.Errorf("%v, want an error about what is missing", err)
	}
}

// buildImage returns the folder of the result.
func buildImage(t *testing.T) string {
	t.Helper()
	o := order{
		program: "fairlead.dev/fairlead/kube/testbed/sleeper", module: "../..", name: "fairlead.test/sleeper:1",
		platforms: []string{"linux/amd64", "linux/arm64"}, packages: packages(t), output: filepath.Join(t.TempDir(), "image"),
	}
	if _, err := o.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	return o.output
}

// images are those of the index that the layout has, by platform.
func images(t *testing.T, dir string) map[string]v1.Image {
	t.Helper()
	path, err := layout.FromPath(filepath.Join(dir, "layout"))
	if err != nil {
		t.Fatal(err)
	}
	root, err := path.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	of := func(index v1.ImageIndex) []v1.Descriptor {
		manifest, err := index.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		return manifest.Manifests
	}
	index, err := root.ImageIndex(of(root)[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]v1.Image{}
	for _, d := range of(index) {
		if all[d.Platform.String()], err = index.Image(d.Digest); err != nil {
			t.Fatal(err)
		}
	}
	if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, []string{"linux/amd64", "linux/arm64"}) {
		t.Fatalf("there are images for %q", got)
	}
	return all
}

// packages are small ones.
func packages(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, files := range map[string]map[string]string{
		"ca-certificates": {
			"usr/share/ca-certificates/mozilla/B.crt": "-----BEGIN CERTIFICATE-----\nb\n",
			"usr/share/ca-certificates/mozilla/A.crt": "-----BEGIN CERTIFICATE-----\na\n\n",
			"usr/sbin/update-ca-certificates":         "#!/bin/sh\n",
		},
		"netbase": {"etc/services": "https 443/tcp\n"},
		"tzdata":  {"usr/share/zoneinfo/Etc/UTC": "TZif\n", "usr/share/doc/tzdata/copyright": "public domain\n", "usr/sbin/tzconfig": ""},
	} {
		root := filepath.Join(t.TempDir(), name)
		files["DEBIAN/control"] = "Package: " + name + "\nVersion: 2026a\nArchitecture: all\nMaintainer: nobody <nobody@example.com>\nDescription: for a test\n"
		for path, content := range files {
			path = filepath.Join(root, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if name == "tzdata" {
			zones := filepath.Join(root, "usr/share/zoneinfo")
			if err := os.Link(filepath.Join(zones, "Etc/UTC"), filepath.Join(zones, "UTC")); err != nil {
				t.Fatal(err)
			}
		}
		c := exec.CommandContext(t.Context(), "dpkg-deb", "--build", "--root-owner-group", root, filepath.Join(dir, name+"_1.deb"))
		c.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1") // two of them are the same
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return dir
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}
