package cel

import (
	"reflect"

	"github.com/conjunct-project/conjunct/engine"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// source is an object that can give one field without being built as a whole.
type source interface {
	field(name string) (any, bool)
	document() map[string]any
}

// view is a source as a CEL map. The whole is built only for a gate that asks for
// more than fields.
type view struct {
	source
	adapter *adapter
	whole   traits.Mapper
}

func (v *view) all() traits.Mapper {
	if v.whole == nil {
		v.whole = types.NewStringInterfaceMap(v.adapter, v.document())
	}
	return v.whole
}

// Find implements traits.Mapper.
func (v *view) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	value, ok := v.field(string(name))
	if !ok {
		return nil, false
	}
	return v.adapter.NativeToValue(value), true
}

// Get implements traits.Indexer.
func (v *view) Get(key ref.Val) ref.Val { return v.all().Get(key) }

// Contains implements traits.Container.
func (v *view) Contains(key ref.Val) ref.Val {
	_, found := v.Find(key)
	return types.Bool(found)
}

// Iterator implements traits.Iterable.
func (v *view) Iterator() traits.Iterator { return v.all().Iterator() }

// Size implements traits.Sizer.
func (v *view) Size() ref.Val { return v.all().Size() }

// IsZeroValue implements traits.Zeroer.
func (v *view) IsZeroValue() bool { return v.Size() == types.IntZero }

// ConvertToNative implements ref.Val.
func (v *view) ConvertToNative(t reflect.Type) (any, error) { return v.all().ConvertToNative(t) }

// ConvertToType implements ref.Val.
func (v *view) ConvertToType(t ref.Type) ref.Val { return v.all().ConvertToType(t) }

// Equal implements ref.Val.
func (v *view) Equal(other ref.Val) ref.Val { return v.all().Equal(other) }

// Type implements ref.Val.
func (v *view) Type() ref.Type { return types.MapType }

// Value implements ref.Val.
func (v *view) Value() any { return v.all().Value() }

type consequenceSource struct{ *engine.Consequence }

func (s consequenceSource) field(name string) (any, bool) {
	text, ok := s.Property(name)
	return text, ok
}

func (s consequenceSource) document() map[string]any { return s.Document() }

type stateSource struct {
	*engine.State
	adapter *adapter
}

func (s stateSource) field(name string) (any, bool) {
	switch name {
	case "settings":
		return nonNil(s.Settings), true
	case "pins":
		return s.Pins, true
	case "evidence":
		return &view{source: evidenceSource(s), adapter: s.adapter}, true
	case "counters":
		return s.Counters, true
	}
	return nil, false
}

func (s stateSource) document() map[string]any { return s.Document() }

type evidenceSource stateSource

func (s evidenceSource) field(name string) (any, bool) {
	e, ok := s.Evidence[name]
	if !ok {
		return nil, false
	}
	return &view{source: recordSource{&e}, adapter: s.adapter}, true
}

func (s evidenceSource) document() map[string]any {
	doc := make(map[string]any, len(s.Evidence))
	for name, e := range s.Evidence {
		doc[name] = e.Document()
	}
	return doc
}

type recordSource struct{ *engine.Evidence }

func (s recordSource) field(name string) (any, bool) {
	switch name {
	case "name":
		return s.Name, true
	case "status":
		return s.Status.String(), true
	case "time":
		return float64(s.Time), true
	}
	value, ok := s.Document()[name]
	return value, ok
}

func (s recordSource) document() map[string]any { return s.Document() }

func nonNil(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}
