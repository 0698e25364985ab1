package bundle

import (
	"fmt"

	"github.com/conjunct-project/conjunct/action"
)

// digest is SHA-256 over the RFC 8785 form of {data, modules: {path: sha256}}.
// The path of a module is its package path and file name, so that a bundle has
// the same digest wherever and however it is stored.
func digest(data map[string]any, modules map[string]string) (string, error) {
	sums := make(map[string]any, len(modules))
	for path, text := range modules {
		sums[path] = action.Hash([]byte(text))
	}
	canonical, err := action.CanonicalValue(map[string]any{"data": data, "modules": sums})
	if err != nil {
		return "", fmt.Errorf("bundle: digest: %w", err)
	}
	return action.Hash(canonical), nil
}
