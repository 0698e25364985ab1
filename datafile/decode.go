package datafile

import (
	"encoding"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/conjunct-project/conjunct/engine"
)

// Decoder turns nodes into typed values and collects every problem on the way.
type Decoder struct{ Problems []Problem }

func (d *Decoder) Report(n *Node, code, hint, format string, args ...any) {
	p := Problem{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint}
	if n != nil {
		p.File, p.Row, p.Col = n.File, n.Row, n.Col
	}
	d.Problems = append(d.Problems, p)
}

// Fields says what may stand in an object and what to do with each value.
type Fields map[string]func(*Node)

// Object hands every field of n to its function. An unknown key and a missing
// required one are problems.
func (d *Decoder) Object(n *Node, what string, f Fields, required ...string) {
	if !n.IsObject() {
		d.Report(n, "data_type", "", "%s must be an object", what)
		return
	}
	known := slices.Sorted(maps.Keys(f))
	for _, k := range n.Keys {
		read, ok := f[k]
		if !ok {
			d.Report(n.KeyNodes[k], "data_unknown_key", engine.DidYouMean(k, known), "%s has no key %q", what, k)
			continue
		}
		read(n.Fields[k])
	}
	for _, k := range required {
		if _, ok := n.Fields[k]; !ok {
			d.Report(n, "data_missing_key", "", "%s lacks %q", what, k)
		}
	}
}

// Each hands every value of an object with free names to read.
func (d *Decoder) Each(what string, read func(name string, key, value *Node)) func(*Node) {
	return func(n *Node) {
		if !n.IsObject() {
			d.Report(n, "data_type", "", "%s must be an object", what)
			return
		}
		for _, k := range n.Keys {
			read(k, n.KeyNodes[k], n.Fields[k])
		}
	}
}

func (d *Decoder) Items(what string, read func(i int, n *Node)) func(*Node) {
	return func(n *Node) {
		if n.Kind != Array {
			d.Report(n, "data_type", "", "%s must be a list", what)
			return
		}
		for i, item := range n.Items {
			read(i, item)
		}
	}
}

func (d *Decoder) Text(what string, into *string) func(*Node) {
	return func(n *Node) {
		s, ok := n.Value.(string)
		if n.Kind != Scalar || !ok {
			d.Report(n, "data_type", "", "%s must be text", what)
			return
		}
		*into = s
	}
}

func (d *Decoder) Texts(what string, into *[]string) func(*Node) {
	read := d.Items(what, func(_ int, n *Node) {
		var s string
		before := len(d.Problems)
		d.Text("an item of "+what, &s)(n)
		if len(d.Problems) > before {
			return
		}
		if slices.Contains(*into, s) {
			d.Report(n, "data_duplicate_item", "", "%s names %q twice", what, s)
		}
		*into = append(*into, s)
	})
	return func(n *Node) {
		*into = []string{}
		read(n)
	}
}

func (d *Decoder) Boolean(what string, into *bool) func(*Node) {
	return func(n *Node) {
		b, ok := n.Value.(bool)
		if n.Kind != Scalar || !ok {
			d.Report(n, "data_type", "", "%s must be true or false", what)
			return
		}
		*into = b
	}
}

// Number reads a number from low to high, inclusively.
func (d *Decoder) Number(what string, low, high float64, into *float64) func(*Node) {
	return func(n *Node) {
		f, ok := n.Value.(float64)
		switch {
		case n.Kind != Scalar || !ok:
			d.Report(n, "data_type", "", "%s must be a number", what)
		case !(f >= low && f <= high):
			d.Report(n, "data_range", "", "%s must lie between %v and %v", what, low, high)
		default:
			*into = f
		}
	}
}

const maxWhole = 1 << 53

func (d *Decoder) Whole(what string, low int64, into *int64) func(*Node) {
	return func(n *Node) {
		var f float64
		before := len(d.Problems)
		d.Number(what, float64(low), maxWhole, &f)(n)
		if len(d.Problems) > before {
			return
		}
		if f != math.Trunc(f) {
			d.Report(n, "data_type", "", "%s must be a whole number", what)
			return
		}
		*into = int64(f)
	}
}

func (d *Decoder) OptionalWhole(what string, low int64, into **int64) func(*Node) {
	return func(n *Node) {
		if n.Kind == Scalar && n.Value == nil {
			return
		}
		v := new(int64)
		d.Whole(what, low, v)(n)
		*into = v
	}
}

// Member reads the text of an enumeration.
func (d *Decoder) Member(what string, into encoding.TextUnmarshaler) func(*Node) {
	return func(n *Node) {
		s, ok := n.Value.(string)
		if n.Kind != Scalar || !ok {
			d.Report(n, "data_type", "", "%s must be text", what)
			return
		}
		if err := into.UnmarshalText([]byte(s)); err != nil {
			d.Report(n, "data_unknown_value", "", "%s: %v", what, err)
		}
	}
}
