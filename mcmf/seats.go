package mcmf

// This file is where leaves sit. A leaf is a unit of supply that takes one of its slots, which are its
// arcs to core nodes; a seat is a leaf that has taken one, as the node sees it (contracted.go). Seats of
// a node are a binary heap by key, the least first; each leaf knows where in the heap it is.

// sit gives a leaf, which has none, the seat of a slot.
func (c *contracted) sit(l, position int32) {
	c.leaves[l].to = c.slots.list(l)[position].to
	other := c.otherwise(l)
	c.take(l, position, other)
	c.followed.seat(c.leafName[l])
}

// take is sit where it is known what the best other slot costs.
func (c *contracted) take(l, position int32, other int64) {
	s := c.slots.list(l)[position]
	c.leaves[l].seat, c.leaves[l].to, c.leaves[l].cost = position, s.to, s.cost
	c.seats.add(s.to, seat{leaf: l, key: c.keyFor(other, s.cost)})
	h := c.seats.list(s.to)
	c.siftUp(h, int32(len(h)-1))
	if c.scale == 1 {
		c.cost.add(1, int64(s.cost))
	}
}

// keyFor is the key of a seat at a cost, when the best other slot costs so much.
func (c *contracted) keyFor(other int64, cost int32) int64 {
	if other == unreachable {
		return unreachable
	}
	return other - int64(cost)*c.scale
}

// rise takes a leaf from its seat, and is the node where that was.
func (c *contracted) rise(l int32) (u int32) {
	u = c.leaves[l].to
	h := c.seats.list(u)
	at, last := c.leaves[l].at, int32(len(h)-1)
	c.leaves[l].seat = -1
	if c.scale == 1 {
		c.cost.add(-1, int64(c.leaves[l].cost))
	}
	moved := h[last]
	c.seats.spans[u].length--
	if at == last {
		return u
	}
	h = h[:last]
	old := h[at].key
	h[at] = moved
	c.leaves[moved.leaf].at = at
	if moved.key < old {
		c.siftUp(h, at)
	} else {
		c.siftDown(h, at)
	}
	return u
}

// rekey gives the seat of a leaf another key.
func (c *contracted) rekey(h []seat, at int32, key int64) {
	old := h[at].key
	h[at].key = key
	if key < old {
		c.siftUp(h, at)
	} else {
		c.siftDown(h, at)
	}
}

func (c *contracted) siftUp(h []seat, i int32) {
	s := h[i]
	for i > 0 {
		parent := (i - 1) / 2
		if h[parent].key <= s.key {
			break
		}
		h[i] = h[parent]
		c.leaves[h[i].leaf].at = i
		i = parent
	}
	h[i] = s
	c.leaves[s.leaf].at = i
}

func (c *contracted) siftDown(h []seat, i int32) {
	s := h[i]
	for {
		child := 2*i + 1
		if child >= int32(len(h)) {
			break
		}
		if child+1 < int32(len(h)) && h[child+1].key < h[child].key {
			child++
		}
		if h[child].key >= s.key {
			break
		}
		h[i] = h[child]
		c.leaves[h[i].leaf].at = i
		i = child
	}
	h[i] = s
	c.leaves[s.leaf].at = i
}

// reseat makes the seats anew from where leaves sit, with exact keys.
func (c *contracted) reseat() {
	for u := range c.seats.spans {
		c.seats.spans[u].length = 0
	}
	for l := range int32(len(c.leaves)) {
		x := &c.leaves[l]
		if x.seat < 0 {
			continue
		}
		other := c.otherwise(l)
		x.at = c.seats.spans[x.to].length
		c.seats.add(x.to, seat{leaf: l, key: c.keyFor(other, x.cost)})
	}
	for u := range int32(len(c.nodes)) {
		h := c.seats.list(u)
		for i := int32(len(h)/2 - 1); i >= 0; i-- {
			c.siftDown(h, i)
		}
	}
}
