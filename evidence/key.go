package evidence

import (
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
	b := make([]byte, 0, n)
	b = append(append(b, kind...), 0)
	for _, p := range parts {
		b = append(append(b, p...), 0)
	}
	return string(b)
}

const (
	clockKey = "clock\x00"
	// waitingList is the record that changes whenever the list below it does.
	waitingList = "waiting\x00"
)

func traceKey(id string) string                   { return join("trace", id) }
func settingKey(trace, name string) string        { return join("setting", trace, name) }
func evidenceKey(trace, call, name string) string { return join("evidence", trace, call, name) }
func pathKey(trace, call string) string           { return join("path", trace, call) }
func callKey(trace, id string) string             { return join("call", trace, id) }
func rejectionKey(call string) string             { return join("rejection", call) }
func waitingKey(k engine.PathKey) string          { return join("waiting", k.Trace, k.Call) }
func counterKey(counter, entity string) string {
	return join("counter", counter, entity)
}

// member is the key of one element of a list, in the order of seq.
func member(list string, seq uint64) string {
	const digits = 20
	s := strconv.FormatUint(seq, 10)
	pad := "00000000000000000000"[:digits-len(s)]
	return list + pad + s + "\x00"
}
