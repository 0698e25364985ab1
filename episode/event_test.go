package episode_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/episode"
)

func small(t testing.TB) *engine.Contract { return load(t, "protected-branch").Contract() }

// withPathPins is a contract without default action, with pins of a path.
func withPathPins() *engine.Contract {
	return &engine.Contract{TracePins: []string{"rule"}, PathPins: []string{"input"}, Evidence: map[string]engine.RecordRule{"ci": {}},
		Context: map[string]engine.RecordRule{"meds": {}}, Start: engine.Start{Settings: map[string]any{"deadline": nil, "scope": true, "queue": 0.0, "mode": "fast"}}}
}

// problem is the decoding error of an episode with one event.
func problem(t *testing.T, c *engine.Contract, text string) *action.Error {
	t.Helper()
	ep, err := episode.Decode([]byte(text), c)
	var bad *action.Error
	if err != nil && !errors.As(err, &bad) {
		t.Fatalf("%s: the error is a %T: %v", text, err, err)
	}
	if err != nil && !reflect.DeepEqual(ep, episode.Episode{}) {
		t.Errorf("%s: an error and an episode", text)
	}
	return bad
}

func TestEventsThatAreRefused(t *testing.T) {
	c := small(t)
	for _, x := range []struct{ name, event, pointer, says string }{
		{"no object", `7`, "/events/0", "object"},
		{"null", `null`, "/events/0", "object"},
		{"no op", `{"t":0}`, "/events/0", "op"},
		{"no t", `{"op":"attempt"}`, "/events/0", "t"},
		{"misspelt op", `{"t":0,"op":"atempt"}`, "/events/0/op", `did you mean "attempt"`},
		{"op in another case", `{"t":0,"op":"Attempt"}`, "/events/0/op", `did you mean "attempt"`},
		{"op none", `{"t":0,"op":"none"}`, "/events/0/op", "no op"},
		{"empty op", `{"t":0,"op":""}`, "/events/0/op", "unknown op"},
		{"op that episodes do not have", `{"t":0,"op":"checkpoint"}`, "/events/0/op", "no op"},
		{"op is a number", `{"t":0,"op":1}`, "/events/0/op", "text"},
		{"unknown field", `{"t":0,"op":"attempt","zzz":1}`, "/events/0/zzz", "unknown field"},
		{"misspelt field", `{"t":0,"op":"attempt","acton":{}}`, "/events/0/acton", `did you mean "action"`},
		{"field of another op", `{"t":0,"op":"attempt","outcome":"approve"}`, "/events/0/outcome", "unknown field"},
		{"t is negative", `{"t":-1,"op":"attempt"}`, "/events/0/t", "time"},
		{"t is a fraction", `{"t":0.5,"op":"attempt"}`, "/events/0/t", "time"},
		{"t is null", `{"t":null,"op":"attempt"}`, "/events/0/t", "time"},
		{"t without a zone", `{"t":"2026-01-02T03:04:05","op":"attempt"}`, "/events/0/t", "RFC 3339"},
		{"t with a fraction", `{"t":"2026-01-02T03:04:05.5Z","op":"attempt"}`, "/events/0/t", "RFC 3339"},
		{"t is a date", `{"t":"2026-01-02","op":"attempt"}`, "/events/0/t", "RFC 3339"},
		{"t is a number in text", `{"t":"5","op":"attempt"}`, "/events/0/t", "RFC 3339"},
		{"trace_id is a number", `{"t":0,"op":"attempt","trace_id":7}`, "/events/0/trace_id", "text"},
		{"by is a list", `{"t":0,"op":"failure","active":true,"by":["x"]}`, "/events/0/by", "text"},
		{"role is a number", `{"t":0,"op":"failure","active":true,"role":1}`, "/events/0/role", "text"},
		{"qualified is text", `{"t":0,"op":"review","outcome":"approve","reviewer":"a","qualified":"yes"}`, "/events/0/qualified", "true or false"},
		{"call is a number", `{"t":0,"op":"failure","active":true,"call":3}`, "/events/0/call", "text"},

		{"unknown pin", `{"t":0,"op":"change","comit":"c2"}`, "/events/0/comit", `did you mean "commit"`},
		{"pin is a number", `{"t":0,"op":"change","commit":2}`, "/events/0/commit", "text"},
		{"pin is null", `{"t":0,"op":"change","commit":null}`, "/events/0/commit", "text"},

		{"unknown setting", `{"t":0,"op":"settings","capcity":1}`, "/events/0/capcity", `did you mean "capacity"`},
		{"setting of another type", `{"t":0,"op":"settings","capacity":"1"}`, "/events/0/capacity", "like 1"},
		{"setting true as a number", `{"t":0,"op":"settings","scope":1}`, "/events/0/scope", "like true"},
		{"setting is an object", `{"t":0,"op":"settings","scope":{}}`, "/events/0/scope", "setting"},
		{"setting is a list", `{"t":0,"op":"settings","scope":[true]}`, "/events/0/scope", "setting"},

		{"evidence without name", `{"t":0,"op":"evidence","status":"pass"}`, "/events/0", "name"},
		{"evidence without status", `{"t":0,"op":"evidence","name":"ci"}`, "/events/0", "status"},
		{"unknown evidence", `{"t":0,"op":"evidence","name":"cI2","status":"pass"}`, "/events/0/name", "no evidence"},
		{"unknown status", `{"t":0,"op":"evidence","name":"ci","status":"passed"}`, "/events/0/status", `did you mean "pass"`},
		{"status not_applicable", `{"t":0,"op":"evidence","name":"ci","status":"not_applicable"}`, "/events/0/status", "pass, fail or unknown"},
		{"expires is text", `{"t":0,"op":"evidence","name":"ci","status":"pass","expires":"soon"}`, "/events/0/expires", "time"},
		{"pins is text", `{"t":0,"op":"evidence","name":"ci","status":"pass","pins":"c1"}`, "/events/0/pins", "object"},
		{"unknown pin of evidence", `{"t":0,"op":"evidence","name":"ci","status":"pass","pins":{"comit":"c1"}}`, "/events/0/pins/comit", "unknown field"},
		{"pin of evidence is a number", `{"t":0,"op":"evidence","name":"ci","status":"pass","pins":{"commit":1}}`, "/events/0/pins/commit", "text"},
		{"source is a number", `{"t":0,"op":"evidence","name":"ci","status":"pass","source":1}`, "/events/0/source", "text"},

		{"failure without active", `{"t":0,"op":"failure"}`, "/events/0", "active"},
		{"active is text", `{"t":0,"op":"failure","active":"yes"}`, "/events/0/active", "true or false"},
		{"recoverable is a number", `{"t":0,"op":"failure","active":true,"recoverable":1}`, "/events/0/recoverable", "true or false"},

		{"engage without component", `{"t":0,"op":"engage","task":"x"}`, "/events/0", "component"},
		{"task is a number", `{"t":0,"op":"engage","component":"m1","task":1}`, "/events/0/task", "text"},

		{"review without outcome", `{"t":0,"op":"review","reviewer":"a"}`, "/events/0", "outcome"},
		{"empty outcome", `{"t":0,"op":"review","outcome":"","reviewer":"a"}`, "/events/0/outcome", "unknown review outcome"},
		{"outcome none", `{"t":0,"op":"review","outcome":"none","reviewer":"a"}`, "/events/0/outcome", "approves"},
		{"misspelt outcome", `{"t":0,"op":"review","outcome":"aprove","reviewer":"a"}`, "/events/0/outcome", `did you mean "approve"`},
		{"reviewer is null", `{"t":0,"op":"review","outcome":"approve","reviewer":null}`, "/events/0/reviewer", "text"},
		{"unknown code", `{"t":0,"op":"review","outcome":"reject","reviewer":"a","code":"wrong_taget"}`, "/events/0/code", "wrong_target"},
		{"gates is text", `{"t":0,"op":"review","outcome":"approve","gates":"g"}`, "/events/0/gates", "list"},
		{"gates holds a number", `{"t":0,"op":"review","outcome":"approve","gates":[1]}`, "/events/0/gates", "texts"},
		{"signed is text", `{"t":0,"op":"review","outcome":"approve","signed":"yes"}`, "/events/0/signed", "true or false"},

		{"result without status", `{"t":0,"op":"result"}`, "/events/0", "status"},
		{"a clearing of nothing", `{"t":0,"op":"clear"}`, "/events/0", "item"},
		{"a clearing of a text", `{"t":0,"op":"clear","item":"x"}`, "/events/0/item", "object"},
		{"a clearing without a value", `{"t":0,"op":"clear","item":{"kind":"target_entity"}}`, "/events/0/item", "value"},
		{"a clearing of space", `{"t":0,"op":"clear","item":{"value":" "}}`, "/events/0/item/value", "value of an item"},
		{"a compensation with nothing", `{"t":0,"op":"compensate"}`, "/events/0", "with"},
		{"a second look", `{"t":0,"op":"reexamine"}`, "/events/0/op", "no op"},
		{"a latency below 0", `{"t":0,"op":"result","status":"ok","latency":-0.1}`, "/events/0/latency", "at least 0"},
		{"an overhead below 0", `{"t":0,"op":"result","status":"ok","overhead":-0.1}`, "/events/0/overhead", "at least 0"},
		{"a cost in words", `{"t":0,"op":"result","status":"ok","cost":"0.1"}`, "/events/0/cost", "number"},
		{"an entity without a name", `{"t":0,"op":"result","status":"ok","produced":["a"," "]}`, "/events/0/produced", "1 to 1024"},
		{"an entity too long", `{"t":0,"op":"result","status":"ok","produced":["` + strings.Repeat("x", 1025) + `"]}`, "/events/0/produced", "1 to 1024"},
		{"an entity that is a number", `{"t":0,"op":"result","status":"ok","produced":[1]}`, "/events/0/produced", "texts"},
		{"an unknown incident", `{"t":0,"op":"result","incident":"wrong"}`, "/events/0/incident", "wrong_t"},
		{"an incident with an empty status", `{"t":0,"op":"result","status":"","incident":"other"}`, "/events/0/status", "unknown result"},
		{"unknown result", `{"t":0,"op":"result","status":"notrun"}`, "/events/0/status", `did you mean "not_run"`},

		{"action is text", `{"t":0,"op":"attempt","action":"merge"}`, "/events/0/action", "object"},
		{"action without tool", `{"t":0,"op":"attempt","action":{"trace_id":"a","call_id":"b","arguments":{}}}`, "/events/0/action/tool", "missing"},
		{"action with an unknown field", `{"t":0,"op":"attempt","action":{"trace_id":"a","call_id":"b","tool":"x","arguments":{},"tol":1}}`, "/events/0/action/tol", "unknown"},
		{"facts are a list", `{"t":0,"op":"attempt","facts":[]}`, "/events/0/facts", "object"},
	} {
		t.Run(x.name, func(t *testing.T) {
			bad := problem(t, c, `{"id":"e","events":[`+x.event+`]}`)
			if bad == nil {
				t.Fatalf("%s is accepted", x.event)
			}
			if bad.Pointer != x.pointer || !strings.Contains(bad.Error(), x.says) {
				t.Errorf("%s\n got %q at %s\nwant %q at %s", x.event, bad.Error(), bad.Pointer, x.says, x.pointer)
			}
		})
	}
}

func TestEpisodesThatAreRefused(t *testing.T) {
	c := small(t)
	for _, x := range []struct{ name, text, pointer, says string }{
		{"no object", `[]`, "", "object"},
		{"no id", `{"events":[]}`, "", "id"},
		{"no events", `{"id":"e"}`, "", "events"},
		{"id is a number", `{"id":1,"events":[]}`, "/id", "text"},
		{"events is an object", `{"id":"e","events":{}}`, "/events", "list"},
		{"events is null", `{"id":"e","events":null}`, "/events", "list"},
		{"unknown field", `{"id":"e","events":[],"label":[]}`, "/label", "unknown field"},
		{"duplicate key", `{"id":"e","id":"f","events":[]}`, "/id", "twice"},
		{"two documents", `{"id":"e","events":[]}{}`, "", ""},
		{"time goes back", `{"id":"e","events":[{"t":2,"op":"attempt"},{"t":1,"op":"attempt"}]}`, "/events/1/t", "goes back from 2 to 1"},
		{"time goes back between notations", `{"id":"e","events":[{"t":"2026-01-02T03:04:05Z","op":"attempt"},{"t":1,"op":"attempt"}]}`, "/events/1/t", "goes back"},
		{"the second event is named", `{"id":"e","events":[{"t":2,"op":"attempt"},{"t":2,"op":"attemp"}]}`, "/events/1/op", "attempt"},
	} {
		t.Run(x.name, func(t *testing.T) {
			bad := problem(t, c, x.text)
			if bad == nil {
				t.Fatalf("%s is accepted", x.text)
			}
			if bad.Pointer != x.pointer && x.says != "twice" || x.says != "twice" && !strings.Contains(bad.Error(), x.says) {
				t.Errorf("got %q at %q, want %q at %q", bad.Error(), bad.Pointer, x.says, x.pointer)
			}
		})
	}
}

func TestEpisodesThatAreAccepted(t *testing.T) {
	c := small(t)
	for _, text := range []string{
		`{"id":"e","events":[]}`,
		`{"id":"","events":[]}`,
		`{"id":"e","events":[],"labels":["allow"],"transitions":["act"],"log":{},"shows":"x"}`,
		`{"id":"e","events":[{"t":0,"op":"attempt"},{"t":0,"op":"attempt"},{"t":"1970-01-01T00:00:05Z","op":"attempt"}]}`,
		`{"id":"e","events":[{"t":"2026-01-02T03:04:05+02:00","op":"attempt"},{"t":"2026-01-02T01:04:05Z","op":"attempt"}]}`,
		`{"id":"e","events":[{"t":0,"op":"settings"},{"t":0,"op":"change"},{"t":0,"op":"settings","deadline":null}]}`,
		`{"id":"e","events":[{"t":0,"op":"evidence","name":"ci","status":"pass","source":"runner","pins":{"commit":"c1"},"expires":9}]}`,
		`{"id":"e","events":[{"t":0,"op":"evidence","name":"ci","status":"pass","expires":null}]}`,
		`{"id":"e","events":[{"t":0,"op":"evidence","name":"ci","status":"pass","expires":"2026-01-02T03:04:05Z"}]}`,
		`{"id":"e","events":[{"t":0,"op":"review","outcome":"reject","reviewer":"a","role":"maintainer","qualified":true,"code":"wrong_target","note":"n","gates":["g"],"signed":true}]}`,
		`{"id":"e","events":[{"t":0,"op":"failure","active":true,"recoverable":false,"by":"x","role":"operator","trace_id":"branch","call":"merge"}]}`,
		`{"id":"e","events":[{"t":0,"op":"attempt","facts":{"a":[1,{"b":null}]}}]}`,
		`{"id":"e","events":[{"t":0,"op":"engage","component":"m1"},{"t":0,"op":"result","status":"not_run"}]}`,
		`{"id":"e","events":[{"t":0,"op":"attempt"},{"t":1,"op":"result","status":"ok","latency":0.25,"overhead":0.001,"cost":0,"produced":["a","b"]},{"t":2,"op":"result","incident":"other"}]}`,
	} {
		if bad := problem(t, c, text); bad != nil {
			t.Errorf("%s: %v", text, bad)
		}
	}
}

func TestAnAttemptWithoutActionNeedsADefault(t *testing.T) {
	bad := problem(t, withPathPins(), `{"id":"e","events":[{"t":0,"op":"attempt"}]}`)
	if bad == nil || bad.Pointer != "/events/0" || !strings.Contains(bad.Error(), "default_action") {
		t.Errorf("got %v", bad)
	}
}

func TestTicksAndTimestampsAreOneClock(t *testing.T) {
	b := load(t, "protected-branch")
	r := play(t, b, `{"t":0,"op":"evidence","name":"ci","status":"pass"}`, `{"t":"1970-01-01T00:00:20Z","op":"attempt"}`, `{"t":"1970-01-01T01:00:20+01:00","op":"attempt"}`, attempt(21))
	if got := names(r.Transitions); got != "escalate escalate stop" {
		t.Errorf("%s, want the deadline 20 in time and 21 past", got)
	}
}

// Who.

func TestWhoAnEventComesFrom(t *testing.T) {
	b := load(t, "protected-branch")
	for _, c := range []struct {
		name, event string
		source      string
		valid       bool
	}{
		{"nobody: the script", `{"t":1,"op":"failure","active":true}`, "script", true},
		{"somebody without a role", `{"t":1,"op":"failure","active":true,"by":"x"}`, "x", false},
		{"somebody with a role", `{"t":1,"op":"failure","active":true,"by":"x","role":"operator"}`, "x", true},
		{"the script in another role", `{"t":1,"op":"failure","active":true,"role":"guest"}`, "script", false},
		{"the agent", `{"t":1,"op":"failure","active":true,"by":"merge-agent","role":"operator"}`, "merge-agent", false},
		{"the component", `{"t":1,"op":"failure","active":true,"by":"m1","role":"operator"}`, "m1", false},
		{"a reviewer", `{"t":1,"op":"review","outcome":"approve","reviewer":"ada","qualified":true}`, "ada", true},
		{"a reviewer who is not qualified", `{"t":1,"op":"review","outcome":"approve","reviewer":"ada"}`, "ada", false},
		{"a reviewer who is said not to be", `{"t":1,"op":"review","outcome":"approve","reviewer":"ada","qualified":false}`, "ada", false},
		{"a reviewer named by", `{"t":1,"op":"review","outcome":"approve","by":"ada","qualified":true}`, "ada", true},
		{"the reviewer goes before by", `{"t":1,"op":"review","outcome":"approve","reviewer":"ada","by":"author","qualified":true}`, "ada", true},
		{"by does not hide the reviewer", `{"t":1,"op":"review","outcome":"approve","reviewer":"author","by":"ada","qualified":true}`, "author", false},
		{"the script reviews, qualified", `{"t":1,"op":"review","outcome":"approve","qualified":true}`, "script", true},
		{"the script reviews", `{"t":1,"op":"review","outcome":"approve"}`, "script", false},
		{"an unqualified revoke", `{"t":1,"op":"review","outcome":"revoke","reviewer":"x"}`, "x", true},
		{"the agent's revoke", `{"t":1,"op":"review","outcome":"revoke","reviewer":"merge-agent","qualified":true}`, "merge-agent", false},
		{"the author's revoke", `{"t":1,"op":"review","outcome":"revoke","reviewer":"author"}`, "author", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := play(t, b, ci(0), attempt(0), c.event)
			rec := r.Records[2]
			if rec.Source != c.source || (rec.Invalid == "") != c.valid {
				t.Errorf("source %q, invalid %q: want %q, valid %v", rec.Source, rec.Invalid, c.source, c.valid)
			}
		})
	}
}

// Which call.

func TestAnEventFindsTheCallItNames(t *testing.T) {
	b := load(t, "protected-branch")
	release := set(0, "review_required", "false")
	other := `{"trace_id":"branch","call_id":"k2","agent":{"id":"merge-agent"},"tool":"merge","arguments":{"branch":"dev","change":"head"},"confidence":1}`
	fail := func(more string) string { return `{"t":1,"op":"failure","active":true` + more + `}` }
	for _, c := range []struct{ name, event, want string }{
		{"none: the default", fail(``), "act act retry act"},
		{"the default's id", fail(`,"call":"merge"`), "act act retry act"},
		{"another id", fail(`,"call":"k2"`), "act act act retry"},
		{"the default's id in its trace", fail(`,"call":"merge","trace_id":"branch"`), "act act retry act"},
		{"the default's id in another trace", fail(`,"call":"merge","trace_id":"elsewhere"`), "act act act act"},
	} {
		r := play(t, b, ci(0), release, attempt(0), with(0, other), c.event, attempt(2), with(2, other))
		if got := names(r.Transitions); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func runError(t *testing.T, b engine.Governance, events ...string) *action.Error {
	t.Helper()
	ep, err := episode.Decode([]byte(`{"id":"e","events":[`+strings.Join(events, ",")+`]}`), b.Contract())
	if err != nil {
		t.Fatal(err)
	}
	_, err = ep.Run(context.Background(), b)
	var bad *action.Error
	if !errors.As(err, &bad) {
		t.Fatalf("Run gives %v, want an *action.Error", err)
	}
	return bad
}

func TestACallThatWasNotProposedBeforeIsAnError(t *testing.T) {
	b := load(t, "protected-branch")
	bad := runError(t, b, ci(0), `{"t":0,"op":"failure","active":true,"call":"k2"}`)
	if bad.Pointer != "/events/1/call" || !strings.Contains(bad.Error(), `"k2"`) {
		t.Errorf("got %v at %s", bad, bad.Pointer)
	}
	bad = runError(t, b, with(0, merge("branch", "k2", 1)), `{"t":0,"op":"review","outcome":"revoke","call":"k2","trace_id":"other"}`)
	if bad.Pointer != "/events/1/call" {
		t.Errorf("a call of another trace: got %v at %s", bad, bad.Pointer)
	}
	noDefault := variant(t, in("\ndefault_action:\n  trace_id: branch\n  call_id: merge\n  agent: {id: merge-agent}\n  tool: merge\n  arguments: {branch: main, change: head}\n  confidence: 1\n", "\n"))
	for _, op := range []string{`"op":"failure","active":true`, `"op":"review","outcome":"revoke"`, `"op":"result","status":"ok"`} {
		bad = runError(t, noDefault, `{"t":0,"trace_id":"branch",`+op+`}`)
		if bad.Pointer != "/events/0" || !strings.Contains(bad.Error(), "names no call") {
			t.Errorf("%s: got %v at %s", op, bad, bad.Pointer)
		}
	}
}

func TestACallIDUsedForOtherContentIsBlocked(t *testing.T) {
	b := load(t, "protected-branch")
	other := `{"trace_id":"branch","call_id":"merge","agent":{"id":"merge-agent"},"tool":"merge","arguments":{"branch":"dev","change":"head"},"confidence":1}`
	r := play(t, b, ci(0), set(0, "review_required", "false"), attempt(1), with(1, other), attempt(1))
	if got := names(r.Transitions); got != "act stop act" {
		t.Errorf("%s, want act stop act", got)
	}
	if r.Records[3].Invalid != "invalid_attempt" {
		t.Errorf("invalid %q", r.Records[3].Invalid)
	}
}

func TestAFactThatMovedVoidsAnApprovalBoundToFacts(t *testing.T) {
	b := variant(t, in("voided_by: [pins]", "voided_by: [pins, facts]"))
	r := play(t, b, ci(0), `{"t":1,"op":"attempt","facts":{"size":1}}`, review(2, "ada", "approve"), `{"t":3,"op":"attempt","facts":{"size":2}}`, `{"t":3,"op":"attempt","facts":{"size":1.0}}`)
	if got := names(r.Transitions); got != "escalate escalate act" {
		t.Errorf("%s, want the approval to hold for the facts it was given for", got)
	}
}

// The record, as an episode shows it.

func TestTheLogOfASmallLife(t *testing.T) {
	r := play(t, load(t, "protected-branch"), attempt(0), ci(1), failure(1, true), attempt(2), failure(3, false), attempt(4),
		review(5, "author", "approve"), review(6, "ada", "return"), attempt(7), review(8, "ada", "reject"), attempt(9), review(10, "ada", "revoke"),
		attempt(11), review(12, "ada", "approve"), attempt(13), attempt(21))
	want := `{"id":"e","labels":["block","block","review","review","block","review","allow","block"],"transitions":["verify","retry","escalate","escalate","stop","escalate","act","stop"],` +
		`"log":{"review_request":[4,7,11],"review_complete":[[6,"return",2],[8,"reject",1],[12,"approve",1]],"invalid_review":[5],"release":[13],"retry":[2]}}`
	got, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for i, rec := range r.Records {
		if rec.Seq != uint64(i+1) {
			t.Errorf("record %d has seq %d", i, rec.Seq)
		}
	}
}

// Reported.

func TestATimeBeyondWhatAClockHoldsIsRefused(t *testing.T) {
	for _, at := range []string{"1e19", "1e300", "9007199254740994"} {
		if bad := problem(t, small(t), `{"id":"e","events":[{"t":`+at+`,"op":"attempt"}]}`); bad == nil || bad.Pointer != "/events/0/t" {
			t.Errorf("t = %s: %v", at, bad)
		}
	}
	if bad := problem(t, small(t), `{"id":"e","events":[{"t":"1960-01-01T00:00:00Z","op":"attempt"}]}`); bad == nil {
		t.Error("a time before 1970 is accepted as text and not as a tick")
	}
}

func TestAnEmptyEnumIsRefused(t *testing.T) {
	for _, event := range []string{`{"t":0,"op":"evidence","name":"ci","status":""}`, `{"t":0,"op":"result","status":""}`, `{"t":0,"op":"result","status":"none"}`} {
		if problem(t, small(t), `{"id":"e","events":[`+event+`]}`) == nil {
			t.Errorf("%s is accepted", event)
		}
	}
}

func TestAnEmptyReviewerIsNotTheScript(t *testing.T) {
	for _, event := range []string{`{"t":0,"op":"review","outcome":"approve","reviewer":"","qualified":true}`, `{"t":0,"op":"failure","active":true,"by":""}`} {
		if problem(t, small(t), `{"id":"e","events":[`+event+`]}`) == nil {
			t.Errorf("%s is accepted", event)
		}
	}
}

func TestAFieldThatHasNoEffectIsRefused(t *testing.T) {
	for _, event := range []string{`{"t":0,"op":"attempt","call":"nonsense"}`, with(0, merge("one", "k", 1), `,"trace_id":"two"`), `{"t":0,"op":"settings","scope":true,"call":"merge"}`, `{"t":0,"op":"engage","component":"m1","call":"merge"}`} {
		if problem(t, small(t), `{"id":"e","events":[`+event+`]}`) == nil {
			t.Errorf("%s is accepted", event)
		}
	}
}

func TestATraceIDIsAnIdentifier(t *testing.T) {
	for _, id := range []string{"a\\u0000b", "ä", strings.Repeat("x", 257)} {
		if problem(t, small(t), `{"id":"e","events":[{"t":0,"op":"settings","trace_id":"`+id+`"}]}`) == nil {
			t.Errorf("trace_id %s is accepted", id)
		}
	}
}

func TestAnEventWithoutATraceIsRefusedWhereThereIsNoDefault(t *testing.T) {
	for _, event := range []string{`{"t":0,"op":"evidence","name":"ci","status":"pass"}`, `{"t":0,"op":"change","rule":"r2"}`, `{"t":0,"op":"engage","component":"m1"}`} {
		if problem(t, withPathPins(), `{"id":"e","events":[`+event+`]}`) == nil {
			t.Errorf("%s is accepted", event)
		}
	}
}

func TestAPathPinOfAnEventThatNamesNoCallIsTheDefaultActions(t *testing.T) {
	b := variant(t, in("trace: [commit, base, policy, component, input, pusher]\n  path: []", "trace: [commit, base, policy, component, pusher]\n  path: [input]"))
	r := play(t, b, ci(0), attempt(1), review(2, "ada", "approve"), pin(3, "input", "i2"), attempt(4))
	if r.Records[3].Invalid != "" || names(r.Transitions) == "escalate act" {
		t.Errorf("change is %q, %s: want the approval void", r.Records[3].Invalid, names(r.Transitions))
	}
}

func TestTheFirstOfTwoErrorsIsAlwaysTheSame(t *testing.T) {
	for _, event := range []string{`{"t":0,"op":"change","base":1,"commit":2,"input":3,"policy":4}`, `{"t":0,"op":"settings","capacity":"1","scope":1,"queue":"2","eligible":3}`, `{"t":0,"op":"evidence","name":"ci","status":"pass","pins":{"base":1,"commit":2,"input":3,"policy":4}}`} {
		first := problem(t, small(t), `{"id":"e","events":[`+event+`]}`)
		for range 50 {
			if again := problem(t, small(t), `{"id":"e","events":[`+event+`]}`); again.Error() != first.Error() {
				t.Errorf("%v, then %v", first, again)
				break
			}
		}
	}
}

// Fuzz.

// FuzzDecode holds the decoder to never panicking, to giving an *action.Error
// or an episode and never both, and to decoding the same text to the same
// episode. What decodes also runs.
func FuzzDecode(f *testing.F) {
	b := load(f, "protected-branch")
	c := b.Contract()
	for _, events := range [][]string{{}, {ci(0), attempt(1), review(2, "ada", "approve"), attempt(3)}, everyAttack(0, "merge-agent"),
		{set(0, "deadline", "null"), pin(1, "commit", "c2"), failure(2, true), result(3, "error")}, {with(1, merge("t", "k", 0.5), `,"facts":{"a":1}`)}} {
		f.Add([]byte(`{"id":"e","events":[` + strings.Join(events, ",") + `]}`))
	}
	for _, text := range []string{``, `null`, `{"id":"e","events":[{}]}`, `{"id":"e","events":[{"t":1e19,"op":"attempt"}]}`, `{"id":"e","events":[{"t":0,"op":"evidence","name":"ci","status":"pass","pins":null}]}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		ep, err := episode.Decode(text, c)
		again, err2 := episode.Decode(text, c)
		if (err == nil) != (err2 == nil) || !reflect.DeepEqual(ep, again) {
			t.Fatalf("decoded twice: %v (%v), %v (%v)", ep, err, again, err2)
		}
		if err != nil {
			var bad *action.Error
			if !errors.As(err, &bad) || !reflect.DeepEqual(ep, episode.Episode{}) {
				t.Fatalf("the error is a %T (%v) beside %v", err, err, ep)
			}
			return
		}
		r, err := ep.Run(context.Background(), b)
		var bad *action.Error
		if err != nil && !errors.As(err, &bad) {
			t.Fatalf("Run: %v", err)
		}
		if len(r.Labels) != len(r.Transitions) {
			t.Fatalf("%d labels, %d transitions", len(r.Labels), len(r.Transitions))
		}
		if _, err := json.Marshal(r); err != nil {
			t.Fatal(err)
		}
		for i, rec := range r.Records {
			if rec.Decision != nil && rec.Decision.Permit != (rec.Transition == engine.Act) {
				t.Fatalf("record %d: permit %v, transition %v", i, rec.Decision.Permit, rec.Transition)
			}
		}
	})
}
