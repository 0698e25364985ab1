package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// Rule is the place in a bundle that a reason speaks of. The zero value means
// that no bundle rule was involved: the engine itself speaks.
type Rule struct {
	Path  string `json:"path"`
	File  string `json:"file"`
	Row   int    `json:"row"`
	Title string `json:"title"`
}

// Fact is one value that a rule read, by JSON pointer into the policy input.
// Value is nil and Absent true where the path leads nowhere.
type Fact struct {
	Path   string `json:"path"`
	Value  any    `json:"value"`
	Absent bool   `json:"absent,omitempty"`
}

// Reason says why, with a code to match on, a place, and the facts read. Text
// is for people; it is derived and is neither hashed nor compared.
type Reason struct {
	Code  string `json:"code"`
	Rule  Rule   `json:"rule"`
	Facts []Fact `json:"facts"`
	Text  string `json:"text"`
}

// longValue is the size in bytes above which a string in a reason is replaced
// by its digest and size, so that a reason can be shown and stored anywhere.
const longValue = 256

// NewFact returns the fact that path holds value.
func NewFact(path string, value any) Fact { return Fact{Path: path, Value: shorten(value)} }

// AbsentFact returns the fact that path leads nowhere.
func AbsentFact(path string) Fact { return Fact{Path: path, Absent: true} }

func shorten(v any) any {
	switch v := v.(type) {
	case string:
		if len(v) > longValue {
			return digestOf(v)
		}
	case map[string]any, []any:
		text, err := json.Marshal(v)
		if err != nil || len(text) > longValue {
			return digestOf(string(text))
		}
	}
	return v
}

func digestOf(text string) any {
	sum := sha256.Sum256([]byte(text))
	return map[string]any{"sha256": hex.EncodeToString(sum[:]), "size": len(text)}
}

// clip shortens what a text repeats of an input.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

func reason(code, text string, facts ...Fact) Reason {
	return Reason{Code: code, Text: text, Facts: facts}
}
