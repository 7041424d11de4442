package google2019

import (
	"encoding/binary"
	"errors"
	"io"
	"math"

	"fairlead.dev/fairlead/cluster"
	"fairlead.dev/fairlead/internal/spill"
	"fairlead.dev/fairlead/sim/trace"
)

// This file is what the instances of a collection have in common, by collection_events: whose they are, and how many of them
// a machine may hold.

// The columns of collection_events.
const (
	collectionTime = iota
	collectionType
	collectionID
	collectionUser
	collectionPerMachine
	collectionPerSwitch
	collectionScaling
	collectionStartAfter
)

func collectionTable() *table {
	return &table{name: "collection_events", used: collectionStartAfter + 1, lists: 1, columns: []string{
		"time", "type", "collection_id", "user", "max_per_machine", "max_per_switch", "vertical_scaling", "start_after_collection_ids",
		"scheduling_class", "missing_type", "collection_type", "priority", "alloc_collection_id", "collection_name", "collection_logical_name",
		"parent_collection_id", "scheduler",
	}}
}

type collection struct {
	user    string
	perNode int32
}

// ignored counts the collections of which something is not simulated.
type ignored struct{ perSwitch, scaled, after int }

type collections struct {
	known  bool // the table is there
	sorted *spill.Sorter
	in     *spill.Reader
	texts  spill.Texts
	alive  map[uint64]collection
	ended  []uint64 // at the latest moment; they are forgotten after it
	at     cluster.Time
	ignored

	time   cluster.Time // of the row that comes next; cluster.Never after the last
	latest []byte
}

// load reads the table.
func (c *collections) load(files []string, skips *trace.Skips) error {
	c.known = len(files) > 0
	var b []byte
	err := load(collectionTable(), files, skips, func(r *row) error {
		at := r.need(collectionTime, wantTime, span(0, math.MaxInt64))
		if !r.has(collectionType) {
			r.fail(collectionType, "a type of event", &cell{})
		}
		what := r.named(collectionType, &r.cells[collectionType], "a type of event", eventNames())
		id := r.need(collectionID, "the ID of a collection", span(0, math.MaxInt64))
		b = binary.AppendUvarint(append(b[:0], byte(what)), uint64(id))
		b = spill.AppendText(b, r.string(collectionUser))
		b = binary.AppendVarint(b, r.int(collectionPerMachine, "how many instances a machine may hold, or 0", span(0, math.MaxInt32)))
		limited := r.int(collectionPerSwitch, "how many instances a switch may hold, or 0", span(0, math.MaxInt32)) > 0
		scaled := r.named(collectionScaling, &r.cells[collectionScaling], "how it is scaled vertically", []string{
			"VERTICAL_SCALING_SETTING_UNKNOWN", "VERTICAL_SCALING_OFF", "VERTICAL_SCALING_CONSTRAINED", "VERTICAL_SCALING_FULLY_AUTOMATED",
		}) >= 2
		b = append(b, digit(limited), digit(scaled), digit(len(r.lists[0]) > 0))
		if r.err != nil || at == afterTheEnd {
			return nil
		}
		return c.sorted.Add(at, uint8(what), b)
	})
	return err
}

func digit(is bool) byte {
	if is {
		return 1
	}
	return 0
}

// start begins to give the rows in order.
func (c *collections) start() (err error) {
	if c.in, err = c.sorted.Read(); err != nil {
		return err
	}
	return c.advance()
}

func (c *collections) advance() error {
	at, record, err := c.in.Next()
	c.time, c.latest = cluster.Time(at), record
	if errors.Is(err, io.EOF) {
		c.time, err = cluster.Never, nil
	}
	return err
}

// upTo takes the rows up to a moment. What a collection says first counts for as long as it is there.
func (c *collections) upTo(at cluster.Time) error {
	if at > c.at {
		for _, id := range c.ended {
			delete(c.alive, id)
		}
		c.ended, c.at = c.ended[:0], at
	}
	for c.time <= at && c.time != cluster.Never {
		row := spill.Cursor(c.latest)
		what, id := row.Byte(), row.Uvarint()
		if what >= fail && what <= lost {
			c.ended = append(c.ended, id)
		} else if _, known := c.alive[id]; !known {
			c.alive[id] = collection{user: c.texts.Of(row.Text()), perNode: int32(row.Varint())}
			c.perSwitch += int(row.Byte())
			c.scaled += int(row.Byte())
			c.after += int(row.Byte())
		}
		if err := c.advance(); err != nil {
			return err
		}
	}
	return nil
}
