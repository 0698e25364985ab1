package metrics

import (
	"math"
	"math/big"
	"slices"
	"strconv"
)

// Figure is one number and what it was made of. Value is nil where there is no
// data.
type Figure struct {
	Value *float64 `json:"value"`
	Count float64  `json:"count"`
	Of    float64  `json:"of"`
}

// Unit is what a figure's value is measured in.
type Unit string

const (
	Share   Unit = "ratio"   // 0 to 1
	Seconds Unit = "seconds" // Count of Of were measured
	Cost    Unit = "cost"    // in the registry's unit, per action
	Number  Unit = "number"  // Value is Count
)

// ratio is count/of.
func ratio(count, of int) Figure { return quotient(whole(count), whole(of)) }

func quotient(count, of *big.Rat) Figure {
	f := Figure{Count: float(count), Of: float(of)}
	if of.Sign() != 0 {
		v := float(new(big.Rat).Quo(count, of))
		f.Value = &v
	}
	return f
}

// number is a count that is a figure of its own; of says among how many.
func number(count, of int) Figure {
	v := float64(count)
	return Figure{Value: &v, Count: v, Of: float64(of)}
}

// quantile is the smallest sample that at least q of all do not exceed. of is
// how many there could have been.
func quantile(samples []float64, q float64, of int) Figure {
	f := Figure{Count: float64(len(samples)), Of: float64(of)}
	if n := len(samples); n > 0 {
		sorted := slices.Sorted(slices.Values(samples))
		v := sorted[max(0, int(math.Ceil(q*float64(n)))-1)]
		f.Value = &v
	}
	return f
}

func whole(n int) *big.Rat { return new(big.Rat).SetInt64(int64(n)) }

// exact is the number that a double is written as: sums of it do not depend on
// their order.
func exact(f float64) *big.Rat {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	if !ok {
		return new(big.Rat) // canonical JSON has neither NaN nor Inf
	}
	return r
}

func float(r *big.Rat) float64 {
	f, _ := r.Float64()
	return f
}
