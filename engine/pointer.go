package engine

import "strings"

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer joins keys to a JSON pointer (RFC 6901).
func Pointer(keys ...string) string {
	n := 0
	for _, k := range keys {
		n += 1 + len(k) + strings.Count(k, "~") + strings.Count(k, "/")
	}
	var b strings.Builder
	b.Grow(n)
	for _, k := range keys {
		b.WriteByte('/')
		if strings.ContainsAny(k, "~/") {
			k = pointerEscape.Replace(k)
		}
		b.WriteString(k)
	}
	return b.String()
}
