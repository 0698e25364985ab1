package signals

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/conjunct-project/conjunct/engine"
)

func TestManyBracesTakeNoTime(t *testing.T) {
	d, _ := New(Scope{}, []Family{Shell})
	start := time.Now()
	for _, brace := range []string{"{", "{a,", "{1..", "a{b}"} {
		line := "echo " + strings.Repeat(brace, 60_000/len(brace))
		facts, unknown := d.Facts(context.Background(), one(line, engine.CommandKind), World{Dir: "/w", Home: "/home/u"})
		if facts["shell"].(map[string]any)["commands"] != nil || len(unknown) == 0 {
			t.Errorf("%s: known to the end: %v", brace, unknown)
		}
	}
	// Splitting them took a minute.
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}
