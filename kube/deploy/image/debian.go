package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Packages of Debian are fetched and unpacked by Debian's own tools. Those that the base is made of are for all architectures.

// names are the packages of the base: certificate authorities, time zones, and the names of protocols and ports.
func names() []string { return []string{"ca-certificates", "netbase", "tzdata"} }

// debianPackage is what was read of one.
type debianPackage struct {
	name, version string
	digest        string // SHA-256 of the package, in hexadecimal
	control       []byte // what dpkg would write down about it
	files         []file
}

// file is one of a package, or a link.
type file struct {
	path    string // without the first slash
	link    string // what it points to, if it is one
	content []byte
}

// download fetches the packages into a folder, in the version that the machine's lists of packages have.
func download(ctx context.Context, dir string) error {
	c := exec.CommandContext(ctx, "apt-get", append([]string{"download", "--quiet", "--quiet", "--option=APT::Sandbox::User=root"}, names()...)...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("download %s; run `apt-get update` first, or name a folder that has them with --packages: %w\n%s", strings.Join(names(), ", "), err, out)
	}
	return nil
}

// readPackages reads those that a folder has, which has to be all of names.
func readPackages(ctx context.Context, dir string) ([]debianPackage, error) {
	var all []debianPackage
	for _, name := range names() {
		files, err := filepath.Glob(filepath.Join(dir, name+"_*.deb"))
		if err == nil && len(files) != 1 {
			err = fmt.Errorf("there are %d files %s_*.deb, want one", len(files), name)
		}
		if err != nil {
			return nil, fmt.Errorf("look for packages in %s: %w", dir, err)
		}
		p, err := readPackage(ctx, files[0])
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", files[0], err)
		}
		if p.name != name {
			return nil, fmt.Errorf("read %s: it is the package %s", files[0], p.name)
		}
		all = append(all, p)
	}
	return all, nil
}

func readPackage(ctx context.Context, path string) (p debianPackage, err error) {
	packed, err := os.ReadFile(path)
	if err != nil {
		return p, err
	}
	sum := sha256.Sum256(packed)
	p.digest = hex.EncodeToString(sum[:])
	if p.control, err = dpkg(ctx, "--field", path); err != nil {
		return p, err
	}
	for line := range strings.Lines(string(p.control)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "Package":
			p.name = value
		case "Version":
			p.version = value
		case "Architecture":
			if value != "all" {
				return p, fmt.Errorf("it is for %s alone", value)
			}
		}
	}
	data, err := dpkg(ctx, "--fsys-tarfile", path)
	if err != nil {
		return p, err
	}
	p.files, err = untar(data)
	return p, err
}

// dpkg is what dpkg-deb prints.
func dpkg(ctx context.Context, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, "dpkg-deb", args...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("dpkg-deb %s: %w %s", strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}

// untar reads files and links; a hard link is a file with the same content.
func untar(data []byte) ([]file, error) {
	var all []file
	contents := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		f := file{path: strings.TrimPrefix(h.Name, "./")}
		switch h.Typeflag {
		case tar.TypeReg:
			if f.content, err = io.ReadAll(r); err != nil {
				return nil, err
			}
		case tar.TypeLink:
			f.content = contents[strings.TrimPrefix(h.Linkname, "./")]
		case tar.TypeSymlink:
			f.link = h.Linkname
		default: // a directory
			continue
		}
		contents[f.path] = f.content
		all = append(all, f)
	}
}
