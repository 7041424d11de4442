package pack

import (
	"cmp"
	"slices"
)

// The slots of specification firmament §7.4, step 4. Their envelopes are the
// demands of the packed tasks, and what is left of the node's room is added to the
// largest. So they sum to exactly that room. Equal envelopes share a type, found
// through a hash table with open addresses.

// list writes down each node's tasks, task group by task group.
func (p *Packer) list() {
	out := p.out
	out.items, out.itemEnd = out.items[:0], out.itemEnd[:0]
	for n := range p.nodes {
		start := len(out.items)
		for i := p.last[n]; i != none; i = p.picks[i].previous {
			out.items = append(out.items, Lot{ID: p.picks[i].group, Count: 1})
		}
		out.items = merge(out.items, start)
		out.itemEnd = append(out.itemEnd, int32(len(out.items)))
	}
}

// cut makes slots of what list wrote down.
func (p *Packer) cut() {
	out := p.out
	out.slots, out.slotEnd = out.slots[:0], out.slotEnd[:0]
	out.envelope, out.pool = out.envelope[:0], out.pool[:0]
	p.types.clear()
	for n := range p.nodes {
		start := len(out.slots)
		items := out.Items(n)
		largest := 0
		for i, item := range items {
			if p.groups[item.ID].size > p.groups[items[largest].ID].size {
				largest = i
			}
		}
		for i, item := range items {
			if i == largest {
				item.Count--
			}
			if item.Count > 0 {
				p.slot(n, p.demand(int(item.ID)), item.Count)
			}
		}
		switch {
		case len(items) > 0:
			rest := p.left(n)
			for k, q := range p.demand(int(items[largest].ID)) {
				rest[k] += q
			}
			p.slot(n, rest, 1)
		case p.any(n):
			p.slot(n, p.left(n), 1)
		}
		out.slots = merge(out.slots, start)
		out.slotEnd = append(out.slotEnd, int32(len(out.slots)))
	}
}

// any reports whether any task group fits on the empty node.
func (p *Packer) any(n int) bool {
	return slices.ContainsFunc(p.first[n*p.words:(n+1)*p.words], func(set uint64) bool { return set != 0 })
}

// slot adds some slots of an envelope to the last node.
func (p *Packer) slot(n int, envelope []int64, count int32) {
	pool := int32(0)
	if p.in.Pool != nil {
		pool = p.in.Pool[n]
	}
	p.out.slots = append(p.out.slots, Lot{ID: p.types.find(p.out, pool, envelope), Count: count})
}

// merge sorts the lots from start by id, and makes one of those that share it.
func merge(lots []Lot, start int) []Lot {
	slices.SortFunc(lots[start:], func(a, b Lot) int { return cmp.Compare(a.ID, b.ID) })
	end := start
	for _, l := range lots[start:] {
		if end > start && lots[end-1].ID == l.ID {
			lots[end-1].Count += l.Count
			continue
		}
		lots[end] = l
		end++
	}
	return lots[:end]
}

// table finds the type of an envelope: an entry is a type and 1, or 0 if free. At
// most half of them are taken.
type table struct{ entries []int32 }

func (t *table) clear() { clear(t.entries) }

// find is the type of the envelope in the pool. It is added if there is none.
func (t *table) find(out *Packing, pool int32, envelope []int64) int32 {
	if 2*len(out.pool) >= len(t.entries) {
		t.enlarge(out)
	}
	at := t.place(pool, envelope)
	for ; t.entries[at] > 0; at = (at + 1) & (len(t.entries) - 1) {
		if found := t.entries[at] - 1; out.pool[found] == pool && slices.Equal(out.Envelope(int(found)), envelope) {
			return found
		}
	}
	out.pool = append(out.pool, pool)
	out.envelope = append(out.envelope, envelope...)
	t.entries[at] = int32(len(out.pool))
	return t.entries[at] - 1
}

// enlarge doubles the table.
func (t *table) enlarge(out *Packing) {
	t.entries = make([]int32, max(2*len(t.entries), 64))
	for i, pool := range out.pool {
		at := t.place(pool, out.Envelope(i))
		for t.entries[at] > 0 {
			at = (at + 1) & (len(t.entries) - 1)
		}
		t.entries[at] = int32(i + 1)
	}
}

// place is where the search for an envelope begins: FNV-1a over whole numbers, its
// upper half folded in.
func (t *table) place(pool int32, envelope []int64) int {
	const basis, prime = 14695981039346656037, 1099511628211
	h := (uint64(basis) ^ uint64(pool)) * prime
	for _, q := range envelope {
		h = (h ^ uint64(q)) * prime
		h ^= h >> 32
	}
	return int(h & uint64(len(t.entries)-1))
}
