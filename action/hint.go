package action

import (
	"strings"

	"github.com/conjunct-project/conjunct/engine"
)

const hintAbsent = "leave the field out if there is no value"

func absentHint(at *place, v any) string {
	if at == nil {
		return "an action is one JSON object"
	}
	if v == nil {
		return hintAbsent
	}
	return "see the action format for the fields of " + at.path()[0]
}

func stringHint(v any) string {
	if v == nil {
		return hintAbsent
	}
	return "put it in double quotes"
}

func numberHint(v any) string {
	switch v.(type) {
	case nil:
		return hintAbsent
	case string:
		return "write the number without quotes"
	}
	return "a JSON number such as 0.9"
}

// unknownHint says what may have been meant by a field that does not exist.
func unknownHint(at *place, name string, known []string) string {
	if at == nil && strings.EqualFold(name, "time") {
		return "an action has no time: the clock is --now"
	}
	if near := engine.Nearest(name, known); near != "" {
		return `did you mean "` + near + `"?`
	}
	return "the fields are " + strings.Join(known, ", ")
}
