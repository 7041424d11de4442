package cluster

// counts is what a bound counts of each set. A bound over single nodes has as many sets as there are nodes, and counts something on
// few of them: so those that have a count stand in pages of a few neighbours, and of the others there is no more than that they are in none.
// The zero value counts nothing.
type counts struct {
	page []int32         // by set / pageSize: where its page begins in kept, and 1 more; 0 if it has none
	kept [][tenses]Count // pages, one behind the other
}

const (
	pageBits = 3
	pageSize = 1 << pageBits
)

// at is the count of a set.
func (c *counts) at(set int32) [tenses]Count {
	if p := int(set >> pageBits); p < len(c.page) && c.page[p] > 0 {
		return c.kept[c.page[p]-1+set&(pageSize-1)]
	}
	return [tenses]Count{}
}

// of is the count of a set, to be changed.
func (c *counts) of(set int32) *[tenses]Count {
	p := int(set >> pageBits)
	c.page = grown(c.page, p)
	if c.page[p] == 0 {
		c.page[p] = int32(len(c.kept)) + 1
		c.kept = grown(c.kept, len(c.kept)+pageSize-1)
	}
	return &c.kept[c.page[p]-1+set&(pageSize-1)]
}

// each calls f with those that may count something, in order.
func (c *counts) each(f func(set int32, count [tenses]Count)) {
	for p, from := range c.page {
		if from == 0 {
			continue
		}
		for i, count := range c.kept[from-1 : from-1+pageSize] {
			f(int32(p<<pageBits+i), count)
		}
	}
}

// clear makes all counts nothing, and keeps the room for others.
func (c *counts) clear() {
	clear(c.page)
	c.kept = c.kept[:0]
}
