package floors

import (
	"cmp"
	"strings"

	"github.com/conjunct-project/conjunct/rego"
)

// truth is the three-valued result of an atom. The zero value is undetermined.
type truth uint8

const (
	undetermined truth = iota
	no
	yes
)

func claim(b bool) truth {
	if b {
		return yes
	}
	return no
}

func (t truth) not() truth {
	switch t {
	case yes:
		return no
	case no:
		return yes
	}
	return undetermined
}

// holds evaluates an atom on the value at its path, with Rego's meaning: values
// of different types are ordered by type, and a string builtin on anything
// else is an error, which leaves the atom undetermined.
func holds(a *rego.Atom, v any) truth {
	t := positive(a, v)
	if a.Negated {
		return t.not()
	}
	return t
}

func positive(a *rego.Atom, v any) truth {
	switch a.Op {
	case rego.Truthy:
		return claim(v != false)
	case rego.In:
		for _, want := range a.Values {
			if compare(v, want) == 0 {
				return yes
			}
		}
		return no
	case rego.HasPrefix, rego.HasSuffix, rego.Contains:
		return affix(a.Op, v, a.Value)
	}
	c := compare(v, a.Value)
	switch a.Op {
	case rego.Eq:
		return claim(c == 0)
	case rego.Neq:
		return claim(c != 0)
	case rego.Lt:
		return claim(c < 0)
	case rego.Lte:
		return claim(c <= 0)
	case rego.Gt:
		return claim(c > 0)
	case rego.Gte:
		return claim(c >= 0)
	}
	return undetermined
}

func affix(op rego.Op, v, part any) truth {
	s, ok1 := v.(string)
	p, ok2 := part.(string)
	if !ok1 || !ok2 {
		return undetermined
	}
	switch op {
	case rego.HasPrefix:
		return claim(strings.HasPrefix(s, p))
	case rego.HasSuffix:
		return claim(strings.HasSuffix(s, p))
	}
	return claim(strings.Contains(s, p))
}

// compare orders a value against a scalar as Rego does: null, booleans,
// numbers, strings, then everything composite.
func compare(v, scalar any) int {
	if c := cmp.Compare(rank(v), rank(scalar)); c != 0 {
		return c
	}
	switch v := v.(type) {
	case bool:
		w := scalar.(bool)
		switch {
		case v == w:
			return 0
		case w:
			return -1
		}
		return 1
	case float64:
		return cmp.Compare(v, scalar.(float64))
	case string:
		return cmp.Compare(v, scalar.(string))
	}
	return 0
}

func rank(v any) int {
	switch v.(type) {
	case nil:
		return 0
	case bool:
		return 1
	case float64:
		return 2
	case string:
		return 3
	}
	return 4
}
