package cel

import (
	"math"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// maxInteger is the largest integer that a JSON double holds without doubt.
const maxInteger = 1<<53 - 1

// assumedSize is the size that the static cost bound assumes of a text or a
// collection in the input. It is not a promise that anybody keeps, so the
// adapter of the unlimited programs looks at every value it hands out.
const assumedSize = 4096

// oversized is the cause with which an evaluation is given up because a value
// is larger than its static cost bound assumed. The gate is then evaluated anew
// under a cost limit.
const oversized interpreter.CancellationCause = -1

// adapter turns input values into CEL values without copying them.
type adapter struct {
	registry types.Adapter
	// bound is the largest size of a value; 0 sets no bound.
	bound int
}

// NativeToValue implements types.Adapter. A JSON number that is a whole number
// within 2^53-1 becomes an int, any other a double.
func (a *adapter) NativeToValue(value any) ref.Val {
	switch v := value.(type) {
	case string:
		a.admit(len(v))
		return types.String(v)
	case float64:
		return number(v)
	case bool:
		return types.Bool(v)
	case map[string]any:
		a.admit(len(v))
		return types.NewStringInterfaceMap(a, v)
	case []any:
		a.admit(len(v))
		return types.NewDynamicList(a, v)
	case map[string]float64:
		a.admit(len(v))
		return types.NewDynamicMap(a, v)
	}
	return a.registry.NativeToValue(value)
}

// admit gives the evaluation up when a value is too large. It panics, in the way
// that cel-go itself stops at a cost limit, since an error value could be
// absorbed, or be taken for equal inside a list or a map.
func (a *adapter) admit(size int) {
	if a.bound > 0 && size > a.bound {
		panic(interpreter.EvalCancelledError{Cause: oversized, Message: "value larger than the static cost bound assumes"})
	}
}

func number(v float64) ref.Val {
	if v == math.Trunc(v) && math.Abs(v) <= maxInteger {
		return types.Int(v)
	}
	return types.Double(v)
}
