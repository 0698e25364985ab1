package cel

import (
	"cmp"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// rangeLimit is the longest range of a loop under a cost limit. The cost tracker
// of cel-go v0.31.0 searches a stack that grows with every turn of a loop, so the
// time is quadratic: 400,000 turns stay below the cost limit and take minutes.
const rangeLimit = 10_000

// loops makes comprehensions over maps run in the order of the keys. Go iterates
// maps in random order, and cel-go passes that on: the same gate could give two
// answers to the same input. A limit above 0 bounds the ranges.
func loops(root *ast.AST, limit int) cel.ProgramOption {
	ranges := map[int64]bool{}
	ast.PostOrderVisit(root.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.ComprehensionKind {
			return
		}
		iterated := e.AsComprehension().IterRange()
		isList := root.GetType(iterated.ID()).Kind() == types.ListKind
		ranges[iterated.ID()] = !isList || limit > 0 && iterated.Kind() != ast.ListKind
	}))
	return cel.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		if ranges[i.ID()] {
			return loopRange{i, limit}, nil
		}
		return i, nil
	})
}

// loopRange is the range of a comprehension.
type loopRange struct {
	interpreter.InterpretableV2
	limit int
}

func (r loopRange) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v := r.InterpretableV2.Exec(frame)
	if sizer, ok := v.(traits.Sizer); ok && r.limit > 0 {
		if n, ok := sizer.Size().(types.Int); ok && int(n) > r.limit {
			panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded, Message: "the range of a loop is too long"})
		}
	}
	return ordered(v)
}

func (r loopRange) Eval(vars interpreter.Activation) ref.Val {
	return r.Exec(interpreter.AsFrame(vars))
}

func ordered(v ref.Val) ref.Val {
	if m, ok := v.(traits.Mapper); ok {
		return orderedMap{m}
	}
	return v
}

// orderedMap is a map whose iteration follows its keys.
type orderedMap struct{ traits.Mapper }

func (m orderedMap) keys() []ref.Val {
	keys := make([]ref.Val, 0, 8)
	for it := m.Mapper.Iterator(); it.HasNext() == types.True; {
		keys = append(keys, it.Next())
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}

// Iterator implements traits.Iterable.
func (m orderedMap) Iterator() traits.Iterator {
	return types.NewRefValList(types.DefaultTypeAdapter, m.keys()).Iterator()
}

// Fold implements traits.Foldable, which comprehensions over two variables use.
func (m orderedMap) Fold(f traits.Folder) {
	for _, k := range m.keys() {
		v, _ := m.Find(k)
		if !f.FoldEntry(k, v) {
			return
		}
	}
}

// compareKeys orders by type first: keys of different types do not compare.
func compareKeys(a, b ref.Val) int {
	if c := cmp.Compare(a.Type().TypeName(), b.Type().TypeName()); c != 0 {
		return c
	}
	if comparer, ok := a.(traits.Comparer); ok {
		if c, ok := comparer.Compare(b).(types.Int); ok {
			return int(c)
		}
	}
	return 0
}
