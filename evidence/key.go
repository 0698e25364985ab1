package evidence

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/conjunct-project/conjunct/engine"
)

// Keys are made of parts that end in NUL. Ids are printable ASCII and hold
// none; a part that does, or that looks quoted, is quoted.
func join(kind string, parts ...string) string {
	n := len(kind) + 1
	for i, p := range parts {
		if strings.IndexByte(p, 0) >= 0 || strings.HasPrefix(p, `"`) {
			parts[i] = strconv.Quote(p)
		}
	}
	for _, p := range parts {
		n += len(p) + 1
	}
	var b strings.Builder
	b.Grow(n)
	b.WriteString(kind)
	b.WriteByte(0)
	for _, p := range parts {
		b.WriteString(p)
		b.WriteByte(0)
	}
	return b.String()
}

// split gives the parts back that a key was made of.
func split(key string) ([]string, error) {
	parts := strings.Split(strings.TrimSuffix(key, "\x00"), "\x00")[1:]
	for i, p := range parts {
		if !strings.HasPrefix(p, `"`) {
			continue
		}
		whole, err := strconv.Unquote(p)
		if err != nil {
			return nil, err
		}
		parts[i] = whole
	}
	return parts, nil
}

// pathOf is the call that the key of a path is of.
func pathOf(key string) (engine.PathKey, error) {
	parts, err := split(key)
	if err != nil || len(parts) != 2 {
		return engine.PathKey{}, errors.Join(fmt.Errorf("evidence: %q is no path", key), err)
	}
	return engine.PathKey{Trace: parts[0], Call: parts[1]}, nil
}

const (
	clockKey = "clock\x00"
	// waitingList is the record that changes whenever the list below it does.
	waitingList = "waiting\x00"
	// suspectedList holds everything that is suspect.
	suspectedList = "suspected\x00"
	// flaggedList holds the reads that were ever flagged.
	flaggedList = "flagged\x00"
)

func resultsKey(trace, call string) string    { return join("results", trace, call) }
func producersKey(trace, value string) string { return join("producers", trace, value) }
func producerKey(trace, value, call string) string {
	return join(members("producers"), trace, value, call)
}
func flaggedKey(k engine.PathKey) string        { return join(members("flagged"), k.Trace, k.Call) }
func suspectedKey(trace, value string) string   { return join(members("suspected"), trace, value) }
func suspicionsKey(trace string) string         { return join("suspicions", trace) }
func suspicionKey(trace, value string) string   { return join(members("suspicions"), trace, value) }
func suspicionsOfKey(value string) string       { return join("suspicions_of", value) }
func suspicionOfKey(value, trace string) string { return join(members("suspicions_of"), value, trace) }
func refusedKey(trace, same string) string      { return join("refused", trace, same) }

func traceKey(id string) string          { return join("trace", id) }
func settingsKey(trace string) string    { return join("settings", trace) }
func evidenceKey(trace, c string) string { return join("evidence", trace, c) }
func pathKey(trace, call string) string  { return join("path", trace, call) }
func callKey(trace, id string) string    { return join("call", trace, id) }
func rejectionKey(call string) string    { return join("rejection", call) }
func entityKey(tool string, e engine.Entity) string {
	return join("entity", tool, string(e))
}

// waitingKey is the member of the waiting list for a path.
func waitingKey(k engine.PathKey) string { return join(members("waiting"), k.Trace, k.Call) }

func counterKey(counter, entity string) string {
	return join("counter", counter, entity)
}

// members is what the keys of all members of a list begin with. A list and its
// members are different kinds of record.
func members(list string) string { return "*" + list }

// member is the key of one element of a list, in the order of seq.
func member(list string, seq uint64) string {
	const digits = 20
	s := strconv.FormatUint(seq, 10)
	pad := "00000000000000000000"[:digits-len(s)]
	return members(list) + pad + s + "\x00"
}
