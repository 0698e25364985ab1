package engine

import "strings"

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer joins keys to a JSON pointer (RFC 6901).
func Pointer(keys ...string) string {
	var b strings.Builder
	for _, k := range keys {
		b.WriteByte('/')
		pointerEscape.WriteString(&b, k)
	}
	return b.String()
}
