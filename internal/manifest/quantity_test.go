package manifest

import "testing"

func TestQuantity(t *testing.T) {
	for _, c := range []struct {
		text  Quantity
		parts int64
		up    int64
		down  int64
	}{
		{"2", 1000, 2000, 2000},
		{"0.1", 1000, 100, 100},
		{"500m", 1000, 500, 500},
		{"1.5Gi", 1, 3 << 29, 3 << 29},
		{"+1Ki", 1, 1024, 1024},
		{".5Ki", 1, 512, 512},
		{"1.", 1, 1, 1},
		{"0.1Ki", 1, 103, 102}, // 102.4
		{"128974848", 1, 128974848, 128974848},
		{"129e6", 1, 129_000_000, 129_000_000},
		{"129E6", 1, 129_000_000, 129_000_000},
		{"1E", 1, 1 << 40, 1 << 40}, // 10¹⁸, more than asked for here
		{"15e-1", 1, 2, 1},
		{"1k", 1, 1000, 1000},
		{"1500u", 1000, 2, 1},
		{"1n", 1000, 1, 0},
		{"0.0000000001", 1000, 1, 0}, // less than a billionth
		{"1e-999", 1000, 1, 0},
		{"1e999", 1, 1 << 40, 1 << 40},
		{"0e999", 1, 0, 0},
		{"0", 1, 0, 0},
		{"0.00", 1000, 0, 0},
	} {
		a, ok := c.text.parse()
		if !ok {
			t.Errorf("%s is no quantity", c.text)
			continue
		}
		up, _ := a.in(c.parts, true, 1<<40)
		down, _ := a.in(c.parts, false, 1<<40)
		if up != c.up || down != c.down {
			t.Errorf("%s is %d rounded up and %d rounded down, want %d and %d", c.text, up, down, c.up, c.down)
		}
	}
	for _, text := range []Quantity{"", "-1", "1.5Gx", "Gi", "1.2.3", "1 Gi", "1i", "1Kii", "1ki", "0x10", "1e", "1e1.5", "1e99999999999999999999", "1m1", "½", "1,5", "true", "[1]", "null"} {
		if a, ok := text.parse(); ok {
			t.Errorf("%q is taken for %v", text, a)
		}
	}
}

// Sums are exact, and stay countable.
func TestAmounts(t *testing.T) {
	third, _ := Quantity("333333334n").parse()
	if got := third.plus(third).plus(third); got != (Amount{1, 2}) {
		t.Errorf("got %v, want 1.000000002", got)
	}
	huge := Amount{Whole: maxAmount}
	if got := huge.plus(huge).plus(third); got != huge {
		t.Errorf("got %v, want %v", got, huge)
	}
	if third.less(third) || !third.less(Amount{Whole: 1}) || !third.less(third.plus(Amount{0, 1})) {
		t.Error("less is wrong")
	}
}
