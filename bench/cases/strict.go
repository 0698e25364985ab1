package cases

import (
	"bytes"
	"encoding/json"
)

// strictly reads an object that has no other keys than the fields of v.
func strictly(raw json.RawMessage, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(v)
}
