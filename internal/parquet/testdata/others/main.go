// Others writes the files of testdata with github.com/parquet-go/parquet-go, and reads with it what package parquet has
// written:
//
//	go run . write ..        # the files that TestOthers reads
//	go run . read FILE       # the rows of a file, a line each
//
// It is a module of its own: nothing of it is linked into what we ship. See docs/adr/0018.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/parquet-go/parquet-go"
)

type constraint struct {
	Name  string  `parquet:"name"`
	Value *string `parquet:"value,optional"`
}

type resources struct {
	CPUs float32 `parquet:"cpus"`
}

// listed has its list in the three levels of LIST, and texts in dictionaries.
type listed struct {
	N        int64        `parquet:"a_n"`
	Small    int32        `parquet:"b_small,dict"`
	Flag     bool         `parquet:"c_flag"`
	Always   string       `parquet:"d_always,dict"`
	Optional *string      `parquet:"e_optional,optional,dict"`
	Request  resources    `parquet:"f_request"`
	List     []constraint `parquet:"g_constraint,list"`
}

// repeated has its list as a group that repeats.
type repeated struct {
	N        int64        `parquet:"a_n"`
	Small    int32        `parquet:"b_small"`
	Flag     bool         `parquet:"c_flag"`
	Always   string       `parquet:"d_always"`
	Optional *string      `parquet:"e_optional,optional"`
	Request  resources    `parquet:"f_request"`
	List     []constraint `parquet:"g_constraint"`
}

// differences is that in the DELTA encodings.
type differences struct {
	N        int64        `parquet:"a_n,delta"`
	Small    int32        `parquet:"b_small,delta"`
	Flag     bool         `parquet:"c_flag"`
	Always   string       `parquet:"d_always,delta"`
	Optional *string      `parquet:"e_optional,optional"`
	Request  resources    `parquet:"f_request"`
	List     []constraint `parquet:"g_constraint"`
}

func rows() []repeated {
	var all []repeated
	for i := range 100 {
		r := repeated{
			N: int64(i) * 1_000_000_007 % 1009, Small: int32(i%7 - 3), Flag: i%5 == 0, Always: fmt.Sprint("always ", i), Request: resources{float32(i) / 64},
		}
		if i%3 == 0 {
			text := fmt.Sprint("text ", i/10)
			r.Optional = &text
		}
		for k := range i % 4 {
			c := constraint{Name: fmt.Sprint("name", k)}
			if k == 1 {
				text := fmt.Sprint(i)
				c.Value = &text
			}
			r.List = append(r.List, c)
		}
		all = append(all, r)
	}
	return all
}

func write[T any](file string, of func(repeated) T, options ...parquet.WriterOption) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	w := parquet.NewGenericWriter[T](f, options...)
	for _, r := range rows() {
		_, wrong := w.Write([]T{of(r)})
		err = errors.Join(err, wrong)
	}
	return errors.Join(err, w.Close(), f.Close())
}

func writeAll(dir string) error {
	asListed := func(r repeated) listed { return listed(r) }
	asRepeated := func(r repeated) repeated { return r }
	asDifferences := func(r repeated) differences { return differences(r) }
	small := parquet.WriterOption(parquet.PageBufferSize(256))
	groups := parquet.WriterOption(parquet.MaxRowsPerRowGroup(30))
	at := func(name string) string { return filepath.Join(dir, name+".parquet") }
	return errors.Join(
		write(at("snappy-dictionary-v1"), asListed, parquet.Compression(&parquet.Snappy), parquet.DataPageVersion(1)),
		write(at("gzip-dictionary-v2"), asListed, parquet.Compression(&parquet.Gzip), parquet.DataPageVersion(2), small),
		write(at("plain-v1"), asRepeated, parquet.Compression(&parquet.Uncompressed), parquet.DataPageVersion(1), small, groups),
		write(at("zstd-delta-v2"), asDifferences, parquet.Compression(&parquet.Zstd), parquet.DataPageVersion(2), small, groups),
	)
}

func read(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	in, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		return err
	}
	fmt.Println(in.Schema())
	r := parquet.NewReader(in)
	for {
		row := map[string]any{}
		if err := r.Read(&row); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		fmt.Println(row)
	}
}

func main() {
	var err error
	switch {
	case len(os.Args) == 3 && os.Args[1] == "write":
		err = writeAll(os.Args[2])
	case len(os.Args) == 3 && os.Args[1] == "read":
		err = read(os.Args[2])
	default:
		err = errors.New("want write DIR or read FILE")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
