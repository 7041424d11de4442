package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// The base is one layer of files and nothing that runs: whom Go trusts, what time it is where, which port has which name, and who the user is. Of each package it
// has the licence, and what dpkg would know of it, in the folder in which scanners look for that.

// nonroot is the user of the image, as the manifests have it.
const nonroot = "65532:65532"

const (
	passwd = `root:x:0:0:root:/root:/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin
nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin
`
	group = `root:x:0:
nogroup:x:65534:
nonroot:x:65532:
`
)

// newBase is an image of the layer for each platform, in one index.
func newBase(debian []debianPackage, platforms []string) (v1.ImageIndex, error) {
	content, err := layerOf(debian)
	if err != nil {
		return nil, err
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	layer, err := tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, fmt.Errorf("make the layer of the base: %w", err)
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range platforms {
		platform, err := v1.ParsePlatform(p)
		if err != nil {
			return nil, fmt.Errorf("platform %s: %w", p, err)
		}
		image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
		image, err = mutate.ConfigFile(image, &v1.ConfigFile{OS: platform.OS, Architecture: platform.Architecture, Variant: platform.Variant, RootFS: v1.RootFS{Type: "layers"}})
		if err == nil {
			image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{CreatedBy: "Debian: " + strings.Join(names(), ", ")}})
		}
		if err != nil {
			return nil, fmt.Errorf("make the base for %s: %w", p, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	return index, nil
}

// layerOf is the files of the base as an archive, in the order of their paths.
func layerOf(debian []debianPackage) ([]byte, error) {
	files := map[string]file{}
	put := func(f file) { files[f.path] = f }
	put(file{path: "etc/passwd", content: []byte(passwd)})
	put(file{path: "etc/group", content: []byte(group)})
	var authorities bytes.Buffer
	for _, p := range debian {
		put(file{path: "var/lib/dpkg/status.d/" + p.name, content: append(p.control, "Status: install ok installed\n"...)})
		slices.SortFunc(p.files, func(a, b file) int { return strings.Compare(a.path, b.path) })
		for _, f := range p.files {
			switch {
			case strings.HasPrefix(f.path, "usr/share/ca-certificates/"):
				authorities.Write(append(bytes.TrimSpace(f.content), '\n'))
			case strings.HasPrefix(f.path, "usr/share/zoneinfo/"), strings.HasPrefix(f.path, "etc/") && p.name == "netbase", f.path == "usr/share/doc/"+p.name+"/copyright":
				put(f)
			}
		}
	}
	// What update-ca-certificates would write, where nobody has taken an authority away.
	put(file{path: "etc/ssl/certs/ca-certificates.crt", content: authorities.Bytes()})
	for _, want := range []string{"etc/services", "usr/share/zoneinfo/UTC"} {
		if _, has := files[want]; !has {
			return nil, fmt.Errorf("assemble the base: no package has /%s; has a new version moved it?", want)
		}
	}
	if !bytes.Contains(authorities.Bytes(), []byte("BEGIN CERTIFICATE")) {
		return nil, errors.New("assemble the base: ca-certificates has no certificates; has a new version moved them?")
	}
	return archive(files)
}

// archive writes files and the folders that they are in, and a folder for what is temporary.
func archive(files map[string]file) ([]byte, error) {
	headers := map[string]*tar.Header{"tmp/": {Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777}}
	for name, f := range files {
		headers[name] = &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(f.content))}
		if f.link != "" {
			headers[name] = &tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: f.link, Mode: 0o777}
		}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			headers[dir+"/"] = &tar.Header{Name: dir + "/", Typeflag: tar.TypeDir, Mode: 0o755}
		}
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if err := w.WriteHeader(headers[name]); err != nil {
			return nil, fmt.Errorf("assemble the base: %s: %w", name, err)
		}
		if _, err := w.Write(files[name].content); err != nil {
			return nil, fmt.Errorf("assemble the base: %s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("assemble the base: %w", err)
	}
	return out.Bytes(), nil
}
