package bundle

import (
	"encoding"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/conjunct-project/conjunct/engine"
)

// decoder turns nodes into typed values and collects every problem on the way.
type decoder struct{ problems []Problem }

func (d *decoder) report(n *node, code, hint, format string, args ...any) {
	p := Problem{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint}
	if n != nil {
		p.File, p.Row, p.Col = n.file, n.row, n.col
	}
	d.problems = append(d.problems, p)
}

// fields says what may stand in an object and what to do with each value.
type fields map[string]func(*node)

// object hands every field of n to its function. An unknown key and a missing
// required one are problems.
func (d *decoder) object(n *node, what string, f fields, required ...string) {
	if !n.isObject() {
		d.report(n, "data_type", "", "%s must be an object", what)
		return
	}
	known := slices.Sorted(maps.Keys(f))
	for _, k := range n.keys {
		read, ok := f[k]
		if !ok {
			d.report(n.keyNodes[k], "data_unknown_key", engine.DidYouMean(k, known), "%s has no key %q", what, k)
			continue
		}
		read(n.fields[k])
	}
	for _, k := range required {
		if _, ok := n.fields[k]; !ok {
			d.report(n, "data_missing_key", "", "%s lacks %q", what, k)
		}
	}
}

// each hands every value of an object with free names to read.
func (d *decoder) each(what string, read func(name string, key, value *node)) func(*node) {
	return func(n *node) {
		if !n.isObject() {
			d.report(n, "data_type", "", "%s must be an object", what)
			return
		}
		for _, k := range n.keys {
			read(k, n.keyNodes[k], n.fields[k])
		}
	}
}

func (d *decoder) items(what string, read func(i int, n *node)) func(*node) {
	return func(n *node) {
		if n.kind != arrayKind {
			d.report(n, "data_type", "", "%s must be a list", what)
			return
		}
		for i, item := range n.items {
			read(i, item)
		}
	}
}

func (d *decoder) text(what string, into *string) func(*node) {
	return func(n *node) {
		s, ok := n.value.(string)
		if n.kind != scalarKind || !ok {
			d.report(n, "data_type", "", "%s must be text", what)
			return
		}
		*into = s
	}
}

func (d *decoder) texts(what string, into *[]string) func(*node) {
	*into = nil
	return d.items(what, func(_ int, n *node) {
		var s string
		d.text("an item of "+what, &s)(n)
		if slices.Contains(*into, s) {
			d.report(n, "data_duplicate_item", "", "%s names %q twice", what, s)
		}
		*into = append(*into, s)
	})
}

func (d *decoder) boolean(what string, into *bool) func(*node) {
	return func(n *node) {
		b, ok := n.value.(bool)
		if n.kind != scalarKind || !ok {
			d.report(n, "data_type", "", "%s must be true or false", what)
			return
		}
		*into = b
	}
}

// number reads a number from low to high, inclusively.
func (d *decoder) number(what string, low, high float64, into *float64) func(*node) {
	return func(n *node) {
		f, ok := n.value.(float64)
		switch {
		case n.kind != scalarKind || !ok:
			d.report(n, "data_type", "", "%s must be a number", what)
		case !(f >= low && f <= high):
			d.report(n, "data_range", "", "%s must lie between %v and %v", what, low, high)
		default:
			*into = f
		}
	}
}

const maxWhole = 1 << 53

func (d *decoder) whole(what string, low int64, into *int64) func(*node) {
	return func(n *node) {
		var f float64
		before := len(d.problems)
		d.number(what, float64(low), maxWhole, &f)(n)
		if len(d.problems) > before {
			return
		}
		if f != math.Trunc(f) {
			d.report(n, "data_type", "", "%s must be a whole number", what)
			return
		}
		*into = int64(f)
	}
}

func (d *decoder) optionalWhole(what string, low int64, into **int64) func(*node) {
	return func(n *node) {
		if n.kind == scalarKind && n.value == nil {
			return
		}
		v := new(int64)
		d.whole(what, low, v)(n)
		*into = v
	}
}

// member reads the text of an enumeration.
func (d *decoder) member(what string, into encoding.TextUnmarshaler) func(*node) {
	return func(n *node) {
		s, ok := n.value.(string)
		if n.kind != scalarKind || !ok {
			d.report(n, "data_type", "", "%s must be text", what)
			return
		}
		if err := into.UnmarshalText([]byte(s)); err != nil {
			d.report(n, "data_unknown_value", "", "%s: %v", what, err)
		}
	}
}
