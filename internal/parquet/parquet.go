// Package parquet reads and writes tables in the format of Apache Parquet, as far as traces and results need it: rows
// whose columns are booleans, integers, real numbers and texts, perhaps within groups, and perhaps in one list.
//
// Read are the compressions UNCOMPRESSED, SNAPPY, GZIP and ZSTD, data pages of both versions, and all encodings but
// BYTE_STREAM_SPLIT and the BIT_PACKED levels of 2013. Written are pages of version 1, PLAIN and GZIP, which every reader has.
// It is our own because those that there are panic on damaged files and take the memory that these claim, and bring eight
// modules: docs/adr/0018.
//
// A file is not trusted. What it says of sizes is held against the bytes that are there before memory is taken. Reading
// takes some times the footer, of at most 64 MiB, and beside that what the columns that are read hold at a time: a dictionary
// and a page each, at most 256 MiB, and the values of a row's lists. Together that is 128 MiB at most and a hundred times the
// file, and never more than a GiB. No two columns may share bytes, and a file has 4 million rows at most, and a hundred
// for each byte.
//
// The format: https://github.com/apache/parquet-format. Numbers of fields and enums below are those of its
// parquet.thrift.
package parquet

import (
	"fmt"
	"math"
)

// Magic is how a file begins and ends.
const Magic = "PAR1"

// Kind is what a column holds.
type Kind uint8

// The kinds.
const (
	Other   Kind = iota // what is not read: times of 96 bits, decimals, fixed bytes, lists of lists
	Flag                // a boolean
	Integer             // of 32 or 64 bits; times are, too
	Natural             // the same without sign
	Real
	Text
	JSON // a text that is JSON
)

// String names the kind in the plural.
func (k Kind) String() string {
	switch k {
	case Other:
	case Flag:
		return "booleans"
	case Integer:
		return "integers"
	case Natural:
		return "integers without sign"
	case Real:
		return "real numbers"
	case Text:
		return "texts"
	case JSON:
		return "JSON"
	}
	return "values of a type that is not read"
}

// Value is one value of a column.
type Value struct {
	// Text is that of Text and JSON.
	Text []byte
	// Null says that there is none.
	Null bool
	bits uint64
}

// Int is the value of Integer, and of Natural where that is below 2^63.
func (v Value) Int() int64 { return int64(v.bits) }

// Uint is the value of Natural.
func (v Value) Uint() uint64 { return v.bits }

// Float is the value of Real.
func (v Value) Float() float64 { return math.Float64frombits(v.bits) }

// Bool is the value of Flag.
func (v Value) Bool() bool { return v.bits != 0 }

// Error says what is wrong with a file, and where in it.
type Error struct {
	At   string // such as "row group 2, column time"; may be empty
	Want string
	Got  string // may be empty
	Hint string // what to do about it; may be empty
}

// Error says the place, what was wanted and what was found.
func (e *Error) Error() string {
	text := "want " + e.Want
	if e.At != "" {
		text = e.At + ": " + text
	}
	if e.Got != "" {
		text += fmt.Sprintf(", got %q", e.Got)
	}
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// The physical types.
const (
	typeBoolean = iota
	typeInt32
	typeInt64
	typeInt96
	typeFloat
	typeDouble
	typeByteArray
	typeFixed
)

// The encodings of values.
const (
	encodingPlain           = 0
	encodingPlainDictionary = 2
	encodingRLE             = 3
	encodingDelta           = 5
	encodingDeltaLength     = 6
	encodingDeltaBytes      = 7
	encodingRLEDictionary   = 8
)

// The compressions.
const (
	uncompressed = 0
	snappy       = 1
	gzipped      = 2
	zstandard    = 6
)

// The kinds of pages.
const (
	pageData       = 0
	pageDictionary = 2
	pageDataV2     = 3
)

// What a field's values may be, once or any number of times.
const (
	required = iota
	optional
	repeated
)

// Some converted types, which say what physical ones mean.
const (
	convertedText    = 0
	convertedList    = 3
	convertedDecimal = 5
	convertedUint8   = 11
	convertedUint64  = 14
	convertedJSON    = 19
)
