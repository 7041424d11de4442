package google2019

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// This file finds the shards of tables.

// shard is a file of a table.
type shard struct {
	file   string
	stem   string // its name without endings
	number uint64
}

// findShards returns the files of a table in the order of their numbers: DIR/TABLE-000000000000.json, DIR/TABLE.json, or
// whatever ends like that in DIR/TABLE.
func findShards(dir, table string) ([]string, error) {
	name := regexp.MustCompile(`^` + table + `(?:[-_](\d{1,18}))?\.(?:json|jsonl|ndjson|parquet)(?:\.gz)?$`)
	inside := regexp.MustCompile(`^.*?(\d{1,18})?\.(?:json|jsonl|ndjson|parquet)(?:\.gz)?$`)
	var shards []shard
	for _, place := range []struct {
		folder string
		name   *regexp.Regexp
	}{{dir, name}, {filepath.Join(dir, table), inside}} {
		entries, err := os.ReadDir(place.folder)
		if errors.Is(err, fs.ErrNotExist) && place.folder != dir {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			m := place.name.FindStringSubmatch(e.Name())
			if m == nil || e.IsDir() {
				continue
			}
			number, _ := strconv.ParseUint(m[1], 10, 64) // none is 0
			stem, _, _ := strings.Cut(e.Name(), ".")
			shards = append(shards, shard{filepath.Join(place.folder, e.Name()), stem, number})
		}
	}
	slices.SortFunc(shards, func(a, b shard) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.file, b.file))
	})
	var files []string
	for i, s := range shards {
		if i > 0 && shards[i-1].stem == s.stem {
			return nil, fmt.Errorf("%s and %s are the same shard of %s; keep one", shards[i-1].file, s.file, table)
		}
		files = append(files, s.file)
	}
	return files, nil
}

// needShards is findShards for a table that must be there.
func needShards(dir, table string) ([]string, error) {
	files, err := findShards(dir, table)
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: no %s: looked for %[2]s-000000000000.json, %[2]s.json and %[2]s/*.json, also .jsonl, .ndjson and .parquet, and any of them with .gz; "+
			"export the table with `bq extract --destination_format NEWLINE_DELIMITED_JSON --compression GZIP`", dir, table)
	}
	return files, err
}
