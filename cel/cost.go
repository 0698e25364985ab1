package cel

import (
	"github.com/google/cel-go/checker"
)

// interruptFrequency is after how many steps of comprehensions an evaluation
// looks whether its context is done.
const interruptFrequency = 100

// sizes bounds the sizes of what an expression reads.
type sizes struct{ scope map[string]any }

// EstimateSize implements checker.CostEstimator. What is not read from the input
// or the scope has no bound here.
func (s sizes) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	p := node.Path()
	if len(p) == 0 {
		return nil
	}
	switch p[0] {
	case "action", "args", "consequence", "facts", "state":
		return &checker.SizeEstimate{Min: 0, Max: assumedSize}
	case "scope":
		return &checker.SizeEstimate{Min: 0, Max: sizeOf(any(nonNil(s.scope)), p[1:])}
	}
	return nil
}

// EstimateCallCost implements checker.CostEstimator; the libraries know their own.
func (s sizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

// sizeOf returns the largest size that a value has at a path of the checker, whose
// steps are keys, @items, @keys and @values.
func sizeOf(value any, path []string) (size uint64) {
	if len(path) == 0 {
		switch v := value.(type) {
		case string:
			return uint64(len(v))
		case []any:
			return uint64(len(v))
		case map[string]any:
			return uint64(len(v))
		}
		return 1
	}
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			size = max(size, sizeOf(element, path[1:]))
		}
	case map[string]any:
		for name, inner := range v {
			switch path[0] {
			case "@keys":
				size = max(size, uint64(len(name)))
			case "@values", "@items", name:
				size = max(size, sizeOf(inner, path[1:]))
			}
		}
	}
	return size
}
