package trace

// Numbers is a set of numbers that lie close together, as those of jobs do: a
// bit for each. The zero value is empty and ready to use.
type Numbers struct {
	pages map[uint64]*[pageBits / 64]uint64
}

const pageBits = 1024

// Add adds v and reports whether it was not there yet.
func (n *Numbers) Add(v uint64) bool {
	page := n.pages[v/pageBits]
	if page == nil {
		if n.pages == nil {
			n.pages = map[uint64]*[pageBits / 64]uint64{}
		}
		page = new([pageBits / 64]uint64)
		n.pages[v/pageBits] = page
	}
	word, bit := &page[v%pageBits/64], uint64(1)<<(v%64)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}
