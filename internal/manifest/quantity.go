package manifest

import (
	"cmp"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// This file reads Kubernetes' quantities exactly: 2, 0.5, 500m, 1.5Gi, 3e9. As
// Kubernetes does, it rounds up to a billionth, and sums before it rounds to
// what is counted.

// Quantity is the text of a quantity, which JSON may also write as a number.
type Quantity string

// UnmarshalJSON takes a string or a number as it stands; null is nothing. What is neither
// is found out when it is parsed, where its place has a name.
func (q *Quantity) UnmarshalJSON(text []byte) error {
	var s *string
	switch {
	case json.Unmarshal(text, &s) != nil:
		*q = Quantity(text)
	case s == nil:
		*q = "0"
	default:
		*q = Quantity(strings.TrimSpace(*s))
	}
	return nil
}

const (
	billion   = 1_000_000_000
	maxAmount = 1 << 60 // of whole units; more counts as this
	// maxDigits bounds the work that a quantity causes.
	maxDigits   = 64
	maxExponent = 200
)

// Amount is a parsed quantity: units and billionths of one.
type Amount struct{ Whole, billionths int64 }

// IsZero reports whether it is nothing.
func (a Amount) IsZero() bool { return a == Amount{} }

func (a Amount) plus(b Amount) Amount {
	sum := Amount{a.Whole + b.Whole, a.billionths + b.billionths}
	if sum.billionths >= billion {
		sum.Whole++
		sum.billionths -= billion
	}
	if sum.Whole >= maxAmount {
		return Amount{Whole: maxAmount}
	}
	return sum
}

func (a Amount) less(b Amount) bool {
	return a.Whole < b.Whole || a.Whole == b.Whole && a.billionths < b.billionths
}

// Compare is negative, 0 or positive as a is less than b, as much, or more.
func (a Amount) Compare(b Amount) int {
	return cmp.Or(cmp.Compare(a.Whole, b.Whole), cmp.Compare(a.billionths, b.billionths))
}

// in counts the amount in so many parts of a unit, from 1 to a billion, rounded
// up or down. Where that is more than most, it returns most and false.
func (a Amount) in(parts int64, up bool, most int64) (int64, bool) {
	if a.Whole > most/parts {
		return most, false
	}
	size := billion / parts
	q := a.Whole*parts + a.billionths/size
	if up && a.billionths%size != 0 {
		q++
	}
	if q > most {
		return most, false
	}
	return q, true
}

// parse reads a quantity that is not negative, and false if it is none. One without a digit is
// none, although Kubernetes takes m, and not Gi, for nothing.
func (q Quantity) parse() (Amount, bool) {
	digits, suffix, ok := q.split()
	if !ok {
		return Amount{}, false
	}
	number, fraction, _ := strings.Cut(digits, ".")
	if !decimal(number) || !decimal(fraction) || number+fraction == "" || len(digits) > maxDigits {
		return Amount{}, false
	}
	n, _ := new(big.Int).SetString(number+fraction, 10)
	if n.Sign() == 0 {
		return Amount{}, true
	}
	if q[0] == '-' {
		return Amount{}, false
	}
	// In billionths: n × base^exponent × 10^(9 - places).
	n.Mul(n, power(10, 9))
	divisor := power(10, len(fraction))
	if suffix.exponent >= 0 {
		n.Mul(n, power(suffix.base, suffix.exponent))
	} else {
		divisor.Mul(divisor, power(suffix.base, -suffix.exponent))
	}
	rest := new(big.Int)
	n.QuoRem(n, divisor, rest)
	if rest.Sign() > 0 {
		n.Add(n, big.NewInt(1))
	}
	n.QuoRem(n, power(10, 9), rest)
	if !n.IsInt64() || n.Int64() >= maxAmount {
		return Amount{Whole: maxAmount}, true
	}
	return Amount{n.Int64(), rest.Int64()}, true
}

// factor is a base to the power of an exponent.
type factor struct {
	base     int64
	exponent int
}

// split takes a quantity apart: 1.5Ki is 1.5 × 1024¹.
func (q Quantity) split() (digits string, by factor, ok bool) {
	text := string(q)
	if text != "" && (text[0] == '+' || text[0] == '-') {
		text = text[1:]
	}
	at := strings.IndexFunc(text, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if at < 0 {
		return text, factor{10, 0}, true
	}
	digits, suffix := text[:at], text[at:]
	if letter, binary := strings.CutSuffix(suffix, "i"); binary {
		power := strings.Index("KMGTPE", letter)
		return digits, factor{1024, power + 1}, len(letter) == 1 && power >= 0
	}
	if len(suffix) == 1 {
		if at := strings.Index("num kMGTPE", suffix); at >= 0 && suffix != " " {
			return digits, factor{1000, at - 3}, true
		}
		return "", factor{}, false
	}
	if suffix[0] != 'e' && suffix[0] != 'E' {
		return "", factor{}, false
	}
	exponent, err := strconv.Atoi(suffix[1:])
	if err != nil {
		return "", factor{}, false
	}
	return digits, factor{10, max(-maxExponent, min(exponent, maxExponent))}, true
}

func power(base int64, exponent int) *big.Int {
	return new(big.Int).Exp(big.NewInt(base), big.NewInt(int64(exponent)), nil)
}

func decimal(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' }) < 0
}
