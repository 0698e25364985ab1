package action

import (
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// RFC 8785 writes numbers as doubles. A literal that a double cannot hold would
// be changed in silence: 9007199254740993 and 9007199254740992 would be two
// calls with one hash, and a policy that reads exact decimals would see another
// value than the one that was hashed. So a literal is accepted only if its exact
// decimal value is that of the shortest spelling of its double.

// maxDigits is the most digits that the shortest spelling of a double has.
const maxDigits = 17

// decimal is a number literal reduced to its value: 0.DIGITS x 10^exponent,
// with neither leading nor trailing zeros in the digits. No digits is zero.
type decimal struct {
	negative bool
	digits   [maxDigits]byte
	n        int // digits in use
	exponent int
	long     bool // more digits than fit; n and digits mean nothing
}

// parseNumber gives the double that a JSON number literal stands for, or says
// why there is none. The time taken is linear in the length of the literal,
// whatever its exponent says.
func parseNumber(literal string) (value float64, msg, hint string) {
	d := reduce(literal)
	switch {
	case d.n == 0:
		return 0, "", "" // -0 too: RFC 8785 has one zero
	case d.long:
		return 0, "number " + shorten(literal, maxShown) + " has more digits than a double can hold", hintNumber
	case d.exponent > 400:
		return 0, tooLarge(literal), hintNumber
	case d.exponent < -400:
		return 0, tooSmall(literal), hintNumber
	}
	// Not the literal itself: strconv stops counting at exponents of five
	// digits, so that 0.(a megabyte of zeros)1e1000001 would come out wrong.
	var buf [maxDigits + 8]byte
	short := append(buf[:0], "0."...)
	short = append(short, d.digits[:d.n]...)
	short = append(short, 'e')
	short = strconv.AppendInt(short, int64(d.exponent), 10)
	f, _ := strconv.ParseFloat(string(short), 64) // a range error is an infinity, seen below
	switch {
	case math.IsInf(f, 0):
		return 0, tooLarge(literal), hintNumber
	case f == 0:
		return 0, tooSmall(literal), hintNumber
	}
	var spelt [32]byte
	nearest := strconv.AppendFloat(spelt[:0], f, 'e', -1, 64)
	back := reduce(string(nearest))
	if back.n != d.n || back.exponent != d.exponent || back.digits != d.digits {
		return 0, "number " + shorten(literal, maxShown) + " is not a double, the nearest is " + spell(f, d.negative), hintNumber
	}
	if d.negative {
		f = -f
	}
	return f, "", ""
}

const hintNumber = "send it as a string, or round it to what a double holds"

func tooLarge(literal string) string {
	return "number " + shorten(literal, maxShown) + " is too large for a double"
}

func tooSmall(literal string) string {
	return "number " + shorten(literal, maxShown) + " is too close to zero for a double"
}

// spell writes a double as RFC 8785 does.
func spell(f float64, negative bool) string {
	if negative {
		f = -f
	}
	return string(jsontext.AppendFloat(nil, f, 64))
}

// reduce takes a valid JSON number literal apart.
func reduce(literal string) (d decimal) {
	i, point, seen := 0, false, 0 // seen: digits from the first that is not zero
	if literal[0] == '-' {
		d.negative = true
		i++
	}
	for ; i < len(literal); i++ {
		c := literal[i]
		if c == 'e' || c == 'E' {
			d.exponent += readExponent(literal[i+1:])
			break
		}
		if c == '.' {
			point = true
			continue
		}
		if c == '0' && seen == 0 {
			if point {
				d.exponent--
			}
			continue
		}
		if !point {
			d.exponent++
		}
		if seen < maxDigits {
			d.digits[seen] = c
		}
		seen++
		if c != '0' {
			d.n = seen
		}
	}
	d.long = d.n > maxDigits
	if d.n == 0 {
		d.exponent = 0
	}
	// A trailing zero is already outside n; blank it, so that digits compare.
	for j := d.n; j < maxDigits; j++ {
		d.digits[j] = 0
	}
	return d
}

// readExponent reads the exponent after the e. It saturates where no document
// of MaxSize digits could bring the value back into range.
func readExponent(s string) int {
	const limit = 1 << 27
	negative := s[0] == '-'
	if negative || s[0] == '+' {
		s = s[1:]
	}
	n := 0
	for i := 0; i < len(s) && n < limit; i++ {
		n = n*10 + int(s[i]-'0')
	}
	if negative {
		return -n
	}
	return n
}
