package main

import (
	"archive/tar"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/ko/pkg/build"
)

// The result is a folder with the image as an OCI layout (layout), the same in one file (image.tar), and the SPDX documents, which ko has
// written by then (sbom); packages that were downloaded stay there as well.

// write writes layout and archive.
func write(image build.Result, name, output string) error {
	dir := filepath.Join(output, "layout")
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return fmt.Errorf("begin the layout %s: %w", dir, err)
	}
	// Two keys, because the specification's is for the tag alone.
	named := layout.WithAnnotations(map[string]string{
		"io.containerd.image.name":          name,
		"org.opencontainers.image.ref.name": name,
	})
	switch image := image.(type) {
	case v1.ImageIndex: // of several platforms
		err = path.AppendIndex(image, named)
	case v1.Image:
		err = path.AppendImage(image, named)
	default:
		err = fmt.Errorf("what to do with a %T?", image)
	}
	if err != nil {
		return fmt.Errorf("write the layout %s: %w", dir, err)
	}
	return pack(dir, filepath.Join(output, "image.tar"))
}

// pack puts a folder into an archive, in the order of names and without times and owners.
func pack(dir, archive string) (err error) {
	f, err := os.Create(archive)
	if err != nil {
		return fmt.Errorf("create the archive: %w", err)
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
	}()
	w := tar.NewWriter(f)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return packFile(w, dir, path)
	})
	if err != nil {
		return fmt.Errorf("write the archive %s: %w", archive, err)
	}
	return w.Close()
}

func packFile(w *tar.Writer, dir, path string) error {
	name, err := filepath.Rel(dir, path)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // Only read.
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o644, Size: info.Size()}); err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}
