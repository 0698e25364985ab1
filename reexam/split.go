package reexam

import "bytes"

// members visits the members of an object in compact JSON, each with its key as
// it is written and its raw value, without looking into the values. It reports
// whether the text is one object as far as it looked: what is inside a value may
// be anything. Whoever uses it compares the whole text afterwards.
func members(text []byte, visit func(key string, value []byte)) bool {
	if len(text) < 2 || text[0] != '{' {
		return false
	}
	if text[1] == '}' {
		return len(text) == 2
	}
	for i := 1; ; {
		colon := stringEnd(text, i)
		if colon < 0 || colon >= len(text) || text[colon] != ':' {
			return false
		}
		end := valueEnd(text, colon+1)
		if end <= colon+1 || end >= len(text) {
			return false
		}
		visit(string(text[i+1:colon-1]), text[colon+1:end])
		switch text[end] {
		case ',':
			i = end + 1
		case '}':
			return end == len(text)-1
		default:
			return false
		}
	}
}

// stringEnd is the place behind the string that begins at i; -1: none does.
func stringEnd(text []byte, i int) int {
	if i >= len(text) || text[i] != '"' {
		return -1
	}
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// valueEnd is the place behind the value that begins at i; -1: none does.
func valueEnd(text []byte, i int) int {
	for depth := 0; i < len(text); {
		switch text[i] {
		case '"':
			if i = stringEnd(text, i); i < 0 {
				return -1
			}
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ',', ':':
			i++
			continue
		default:
			n := bytes.IndexAny(text[i:], ",:}]")
			if n < 0 {
				return -1
			}
			i += n
		}
		if depth <= 0 {
			return i
		}
	}
	return -1
}
