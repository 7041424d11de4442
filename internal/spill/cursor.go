package spill

import "encoding/binary"

// Cursor reads a record field by field, as it was written with package binary and AppendText.
type Cursor []byte

// Byte reads a byte.
func (c *Cursor) Byte() byte {
	v := (*c)[0]
	*c = (*c)[1:]
	return v
}

// Uvarint reads what binary.AppendUvarint has written.
func (c *Cursor) Uvarint() uint64 {
	v, n := binary.Uvarint(*c)
	*c = (*c)[n:]
	return v
}

// Varint reads what binary.AppendVarint has written.
func (c *Cursor) Varint() int64 {
	v, n := binary.Varint(*c)
	*c = (*c)[n:]
	return v
}

// Text reads what AppendText has written; it is a part of the record.
func (c *Cursor) Text() []byte {
	n := c.Uvarint()
	v := (*c)[:n]
	*c = (*c)[n:]
	return v
}

// AppendText writes a text.
func AppendText(b, text []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(text)))
	return append(b, text...)
}

// mostTexts bounds the texts of which one copy is kept.
const mostTexts = 1 << 16

// Texts keeps one copy of each text, as long as there are few. The zero value is empty and ready to use.
type Texts struct{ all map[string]string }

// Of is the text.
func (t *Texts) Of(b []byte) string {
	if s, ok := t.all[string(b)]; ok {
		return s
	}
	if t.all == nil || len(t.all) == mostTexts {
		t.all = map[string]string{}
	}
	s := string(b)
	t.all[s] = s
	return s
}
