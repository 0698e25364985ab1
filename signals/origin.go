package signals

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/conjunct-project/conjunct/engine"
)

const (
	fromUser    = "user" // the origin of what the user wrote
	fromNowhere = "none" // the origin of what nothing was attested for
)

// originFacts lists the values in arguments that did not come from the user, and
// where they came from as the enforcement point attests it. What was attested for
// a part of an argument goes before what was for the whole. Arguments that the
// registry marks read-only are left out. Where no origin at all is attested
// nobody looked, and nothing is known.
func originFacts(_ *Detector, _ context.Context, c *Call, _ World) (map[string]any, []Unknown) {
	list := []any{}
	if len(c.Action.Origins) == 0 {
		return map[string]any{"seen": list}, []Unknown{{Family: Origin, Code: "not_attested"}}
	}
	whole, ok := c.Action.Origins[""]
	if !ok {
		whole = fromNowhere
	}
	for _, name := range c.given() {
		if slices.Contains(c.Tool.ReadOnly, name) {
			continue
		}
		o := origins{attested: c.Action.Origins}
		o.walk(engine.Pointer(name), whole, c.Action.Arguments[name])
		list = append(list, o.list...)
	}
	return map[string]any{"arguments": list, "seen": list}, nil
}

// origins collects the leaves that are not the user's.
type origins struct {
	attested map[string]string
	list     []any
}

func (o *origins) walk(at, origin string, v any) {
	if own, ok := o.attested[at]; ok {
		origin = own
	}
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			o.walk(at+engine.Pointer(k), origin, v[k])
		}
		if len(v) > 0 {
			return
		}
	case []any:
		for i, e := range v {
			o.walk(at+"/"+strconv.Itoa(i), origin, e)
		}
		if len(v) > 0 {
			return
		}
	}
	if origin != fromUser {
		o.list = append(o.list, map[string]any{"argument": at, "origin": origin})
	}
}
