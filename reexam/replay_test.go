package reexam_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/journal"
	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/reexam"
)

const monday = 1772443800 // 2026-03-02T09:30:00Z

func load(t testing.TB, changes map[string]func(string) string) *bundle.Bundle {
	t.Helper()
	files, err := bundle.FromFS(os.DirFS(filepath.Join("..", "policies", "itsm")), "itsm")
	if err != nil {
		t.Fatal(err)
	}
	files.Content = maps.Clone(files.Content)
	for name, change := range changes {
		files.Content[name] = []byte(change(string(files.Content[name])))
	}
	b, err := bundle.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func swap(old, new string) func(string) string {
	return func(s string) string {
		if !strings.Contains(s, old) {
			panic("no " + old)
		}
		return strings.Replace(s, old, new, 1)
	}
}

func key() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32)) }

func reviewers(string) string {
	return fmt.Sprintf("reviewers:\n  lena: {role: service-desk-lead, key: %q}\n  otto: {role: service-desk-lead}\n",
		base64.StdEncoding.EncodeToString(key().Public().(ed25519.PublicKey)))
}

// story is a state in which everything happens once:
//
//	1 activate
//	2 attempt  t/c1 read_ticket, allowed
//	3 attempt  t/c2 reset_credentials, held
//	4 review   t/c2 approved by lena, signed
//	5 attempt  t/c2 allowed
//	6 result   t/c2 ok
//	7 refused  input that was no action
//	8 attempt  u/c1 deprovision_account, blocked
//	9 activate refused
func story(t testing.TB) (dir string) {
	t.Helper()
	return storyOf(t, load(t, map[string]func(string) string{"conjunct/authority/data.yaml": reviewers}))
}

func storyOf(t testing.TB, b *bundle.Bundle) (dir string) {
	t.Helper()
	ctx := context.Background()
	dir = filepath.Join(t.TempDir(), "state")
	if err := pdp.Init(dir, b, monday); err != nil {
		t.Fatal(err)
	}
	p, err := pdp.Open(dir, pdp.Options{Now: func() int64 { return monday }})
	if err != nil {
		t.Fatal(err)
	}
	decide := func(trace, id, tool, arguments string) engine.Action {
		a, err := action.Decode(fmt.Appendf(nil, `{"trace_id":%q,"call_id":%q,"agent":{"id":"itsm-agent"},"tool":%q,"arguments":%s,"confidence":0.95}`, trace, id, tool, arguments))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Decide(ctx, a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	decide("t", "c1", "read_ticket", `{"ticket":"INC-1"}`)
	a := decide("t", "c2", "reset_credentials", `{"account":"acme\\jdoe"}`)
	review := engine.ReviewEvent{Outcome: engine.Approve, Note: "called back"}
	if review.Signature, err = reexam.Sign(key(), reexam.SubjectOf(p.Snapshot(), "t", a.CallHash), engine.Event{Op: engine.OpReview, By: engine.Identity{Name: "lena"}, Review: review}); err != nil {
		t.Fatal(err)
	}
	if rec, err := p.Apply(ctx, engine.Event{Op: engine.OpReview, TraceID: "t", CallID: "c2", By: engine.Identity{Name: "lena"}, Review: review}); err != nil || rec.Invalid != "" {
		t.Fatal(err, rec)
	}
	decide("t", "c2", "reset_credentials", `{"account":"acme\\jdoe"}`)
	if err := p.Result(ctx, "t", "c2", engine.ResultEvent{Status: engine.ResultOK, Recoverable: true}); err != nil {
		t.Fatal(err)
	}
	if err := p.Refuse(action.Line{Text: []byte("{")}, &action.Error{Line: 1}); err != nil {
		t.Fatal(err)
	}
	decide("u", "c1", "deprovision_account", `{"account":"acme\\jdoe"}`)
	if err := p.Activate(ctx, b, engine.Identity{Name: "x", Role: "agent"}); err == nil {
		t.Fatal("a stranger activated a bundle")
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func replay(t testing.TB, path string, o reexam.Options) reexam.Report {
	t.Helper()
	o.Versions = pdp.Versions()
	r, err := reexam.Replay(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// line is an entry as it stands in a file, to be changed.
type line struct {
	Body    json.RawMessage `json:"body"`
	Durable uint64          `json:"durable"`
	Hash    string          `json:"hash"`
	Op      string          `json:"op"`
	Prev    string          `json:"prev"`
	Seq     uint64          `json:"seq"`
	Time    string          `json:"time"`
}

func read(t testing.TB, dir string) []line {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var out []line
	for row := range bytes.Lines(text) {
		var l line
		if err := json.Unmarshal(row, &l); err != nil {
			t.Fatal(err)
		}
		out = append(out, l)
	}
	return out
}

// write stores lines with numbers, hashes and chain computed anew, as a forger
// would who holds the disk.
func write(t testing.TB, dir string, lines []line) {
	t.Helper()
	var out []byte
	prev := ""
	for i, l := range lines {
		head := fmt.Sprintf(`{"body":%s,"durable":%d`, l.Body, min(l.Durable, uint64(i)))
		rest := fmt.Sprintf(`,"op":%q,"prev":%q,"seq":%d,"time":%q}`, l.Op, prev, i+1, l.Time)
		sum := sha256.Sum256([]byte(head + rest))
		prev = "sha256:" + hex.EncodeToString(sum[:])
		out = fmt.Appendf(out, "%s,\"hash\":%q%s\n", head, prev, rest)
	}
	if err := os.WriteFile(filepath.Join(dir, "journal.jsonl"), out, 0o600); err != nil {
		t.Fatal(err)
	}
}

func edit(old, new string) func(t *testing.T, dir string, l []line, i int) []line {
	return func(t *testing.T, _ string, l []line, i int) []line {
		text := strings.Replace(string(l[i].Body), old, new, 1)
		if text == string(l[i].Body) {
			t.Fatalf("entry %d holds no %s: %s", i+1, old, l[i].Body)
		}
		l[i].Body = json.RawMessage(text)
		return l
	}
}

// TestAStoryReplays is the control: untouched, in the directory, in a copy of it
// elsewhere, and by its file.
func TestAStoryReplays(t *testing.T) {
	dir := story(t)
	elsewhere := filepath.Join(t.TempDir(), "other", "place")
	if err := os.CopyFS(elsewhere, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, elsewhere, filepath.Join(dir, "journal.jsonl")} {
		r := replay(t, path, reexam.Options{})
		if !r.OK || r.Entries != 9 || r.Attempts != 4 || r.Redecided != 4 || r.Imposed != 0 || r.Torn != "" || len(r.Problems) != 0 || len(r.Changes) != 0 {
			t.Fatalf("%s: %+v", path, r)
		}
		lines := read(t, dir)
		if r.Head != lines[8].Hash {
			t.Fatalf("head %s", r.Head)
		}
		for _, l := range lines {
			if r := replay(t, path, reexam.Options{Head: l.Hash}); !r.OK {
				t.Errorf("entry %d is there and not found: %+v", l.Seq, r.Problems)
			}
		}
	}
	// Writing the entries anew as a forger would gives the same bytes.
	before, _ := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	write(t, dir, read(t, dir))
	if after, _ := os.ReadFile(filepath.Join(dir, "journal.jsonl")); !bytes.Equal(before, after) {
		t.Fatalf("the forger's writer writes something else:\n%s\n%s", before, after)
	}
}

// TestAnotherVersionDecidesAgain replays what another version says it decided: it
// is held to the same bytes, and where they differ the versions are told.
func TestAnotherVersionDecidesAgain(t *testing.T) {
	older := edit(fmt.Sprintf(`"engine":%q`, pdp.Versions().Engine), `"engine":"0.0.9"`)
	dir := copyOf(t)
	write(t, dir, older(t, dir, read(t, dir), 7))
	if r := replay(t, dir, reexam.Options{}); !r.OK {
		t.Errorf("%+v", r.Problems)
	}
	write(t, dir, edit(`"verdict":"fail"`, `"verdict":"pass"`)(t, dir, read(t, dir), 7))
	r := replay(t, dir, reexam.Options{})
	if len(r.Problems) != 1 || r.Problems[0].Code != reexam.Differs || !strings.Contains(r.Problems[0].Text, "(decided by engine 0.0.9, ") {
		t.Errorf("%+v", r.Problems)
	}
}

// TestAForgerIsFound changes one thing, with every hash and the chain computed
// anew: what an entry says must still follow from those before it.
func TestAForgerIsFound(t *testing.T) {
	bundleName := func(t *testing.T, dir string) string {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(dir, "bundles", "*.tar.gz"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		return files[0]
	}
	drop := func(_ *testing.T, _ string, l []line, i int) []line { return slices.Delete(l, i, i+1) }
	for _, c := range []struct {
		name  string
		seq   int // the entry that is changed
		forge func(t *testing.T, dir string, l []line, i int) []line
		code  string
		at    uint64 // the entry that does not follow
	}{
		{"a block made an allow", 8, edit(`"outcome":"block"`, `"outcome":"allow"`), reexam.Differs, 8},
		{"a permit", 3, edit(`"permit":false`, `"permit":true`), reexam.Differs, 3},
		{"a gate made to pass", 8, edit(`"verdict":"fail"`, `"verdict":"pass"`), reexam.Differs, 8},
		{"a reason changed", 8, edit(`"code":"floor_applied"`, `"code":"floor_matched"`), reexam.Differs, 8},
		{"a floor removed", 8, edit(`irreversible-system-out-of-scope`, `irreversible-system-out-of-scopE`), reexam.Differs, 8},
		{"an argument changed", 3, edit(`jdoe`, `other`), reexam.Differs, 3},
		{"the confidence changed", 8, edit(`"confidence":0.95`, `"confidence":0.5`), reexam.Differs, 8},
		{"the tool changed", 8, edit(`"tool":"deprovision_account","trace_id"`, `"tool":"read_ticket","trace_id"`), reexam.Differs, 8},
		{"a fact added to what was reviewed", 3, edit(`"facts":{}`, `"facts":{"x":1}`), reexam.SignatureWrong, 4},
		{"another bundle named", 8, edit(`"bundle":"sha256:`, `"bundle":"sha256:0`), reexam.Differs, 8},
		{"an unknown field in an attempt", 2, edit(`"facts":{}`, `"extra":1,"facts":{}`), reexam.Differs, 2},
		{"an attempt spelt otherwise", 2, edit(`"facts":{}`, `"facts": {}`), reexam.Differs, 2},
		{"a verdict said to be imposed on nothing", 2, edit(`"imposed":[]`, `"imposed":[{"code":"timeout","gate":"change-window"}]`), reexam.Differs, 2},
		{"an attempt that is no action", 2, edit(`"call_id"`, `"call_jd"`), reexam.Undecodable, 2},

		{"the reviewer's role", 4, edit(`"role":"service-desk-lead"`, `"role":"chief"`), reexam.IdentityWrong, 4},
		{"the reviewer's qualification", 4, edit(`"qualified":true`, `"qualified":false`), reexam.IdentityWrong, 4},
		{"the reviewer", 4, edit(`"by":"lena"`, `"by":"otto"`), reexam.SignatureWrong, 4},
		{"a signature of nothing", 4, func(t *testing.T, dir string, l []line, i int) []line {
			var body struct{ Event struct{ Signature string } }
			if err := json.Unmarshal(l[i].Body, &body); err != nil {
				t.Fatal(err)
			}
			return edit(body.Event.Signature, base64.StdEncoding.EncodeToString(make([]byte, 64)))(t, dir, l, i)
		}, reexam.SignatureWrong, 4},
		{"a signed approval made a return", 4, edit(`"outcome":"approve"`, `"outcome":"return"`), reexam.SignatureWrong, 4},
		{"the signature taken off, and said so", 4, edit(`"signed":true`, `"signed":false`), reexam.IdentityWrong, 4},
		{"the note, which the signature does not cover", 4, edit(`called back`, `never mind`), reexam.SignatureWrong, 4},
		{"an unsigned review made up", 4, func(_ *testing.T, _ string, l []line, i int) []line {
			var body map[string]any
			_ = json.Unmarshal(l[i].Body, &body)
			e := body["event"].(map[string]any)
			delete(e, "signature")
			e["signed"] = false
			l[i].Body, _ = action.CanonicalValue(body)
			return l
		}, reexam.IdentityWrong, 4},
		{"a review spelt otherwise", 4, edit(`"event":{`, `"event": {`), reexam.Undecodable, 4},
		{"an unknown field in an event", 6, edit(`"op":"result"`, `"op":"result","oq":1`), reexam.Undecodable, 6},
		{"an unknown field beside an event", 6, edit(`"event":{`, `"evenr":1,"event":{`), reexam.Differs, 6},
		{"a result by somebody else", 6, edit(`"role":"pep"`, `"role":"agent"`), reexam.Differs, 6},
		{"a result of another call", 6, edit(`"call":"c2"`, `"call":"c1"`), "", 0},
		{"a result of a call nobody proposed", 6, edit(`"call":"c2"`, `"call":"c7"`), reexam.Undecodable, 6},
		{"a result that is earlier", 6, edit(`"t":1772443800`, `"t":1772443799`), reexam.Differs, 6},
		{"the time of the entry of a result", 6, func(_ *testing.T, _ string, l []line, i int) []line {
			for k := i; k < len(l); k++ {
				l[k].Time = "2026-03-02T09:31:00Z"
			}
			return l
		}, reexam.Differs, 6},
		{"another operation", 6, func(_ *testing.T, _ string, l []line, i int) []line { l[i].Op = "failure"; return l }, reexam.Differs, 6},
		{"an operation that does not exist", 6, func(_ *testing.T, _ string, l []line, i int) []line { l[i].Op = "nothing"; return l }, reexam.Differs, 6},

		{"the approval dropped", 4, drop, reexam.Differs, 4},
		{"the first attempt dropped", 2, drop, "", 0},
		{"the held attempt dropped", 3, drop, reexam.Undecodable, 3},
		{"the activation dropped", 1, drop, reexam.BundleMissing, 1},
		{"an attempt made a second time", 5, func(_ *testing.T, _ string, l []line, i int) []line { return slices.Insert(l, i+1, l[i]) }, reexam.Differs, 6},

		{"refused input spelt otherwise", 7, edit(`"length":1`, `"length": 1`), reexam.Undecodable, 7},
		{"refused input that is no JSON", 7, func(_ *testing.T, _ string, l []line, i int) []line {
			l[i].Body = json.RawMessage(`}garbage{`)
			return l
		}, reexam.Undecodable, 7},
		{"refused input with something else in it", 7, edit(`"length":1`, `"length":1,"permit":true`), reexam.Undecodable, 7},

		{"a refused activation made one", 9, edit(`"invalid":"invalid_activate"`, `"invalid":""`), reexam.Differs, 9},
		{"a refused activation made the operator's", 9, edit(`"role":"agent"`, `"role":"operator"`), reexam.Differs, 9},
		{"a refused activation made a bundle that did not load", 9, edit(`"invalid":"invalid_activate"`, `"invalid":"not_loaded"`), reexam.Differs, 9},
		{"a first bundle that did not load", 1, edit(`"invalid":""`, `"invalid":"not_loaded"`), reexam.Differs, 1},
		{"an activation by nobody, in the middle", 6, func(_ *testing.T, _ string, l []line, i int) []line { l[i] = l[0]; return l }, reexam.Differs, 6},
		{"an activation of another revision", 1, edit(`"revision":"`, `"revision":"x`), reexam.BundleWrong, 1},
		{"an unknown field in an activation", 1, edit(`"revision":`, `"revisiom":1,"revision":`), reexam.Differs, 1},
		{"keys of an activation in other letters", 1, edit(`{"bundle":`, `{"Bundle":`), reexam.Differs, 1},
		{"an activation spelt otherwise", 1, edit(`{"bundle":`, `{ "bundle":`), reexam.Undecodable, 1},
		{"an activation of a bundle that is not there", 1, edit(`"bundle":"sha256:`, `"bundle":"sha256:00`), reexam.BundleMissing, 1},
		{"an activation that leads out of the directory", 1, edit(`"bundle":"sha256:`, `"bundle":"../../../`), reexam.BundleMissing, 1},

		{"the bundle removed", 1, func(t *testing.T, dir string, l []line, _ int) []line {
			if err := os.Remove(bundleName(t, dir)); err != nil {
				t.Fatal(err)
			}
			return l
		}, reexam.BundleMissing, 1},
		{"the bundle cut", 1, func(t *testing.T, dir string, l []line, _ int) []line {
			if err := os.Truncate(bundleName(t, dir), 100); err != nil {
				t.Fatal(err)
			}
			return l
		}, reexam.BundleMissing, 1},
		{"another bundle under its name", 1, func(t *testing.T, dir string, l []line, _ int) []line {
			f, err := os.Create(bundleName(t, dir))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := load(t, nil).WriteTarball(f); err != nil {
				t.Fatal(err)
			}
			return l
		}, reexam.BundleWrong, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := copyOf(t)
			write(t, dir, c.forge(t, dir, read(t, dir), c.seq-1))
			before, _ := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
			r := replay(t, dir, reexam.Options{})
			if c.code == "" {
				// What can be derived from nothing cannot be found without --head.
				if !r.OK {
					t.Logf("found: %+v", r.Problems)
				}
				return
			}
			if r.OK || len(r.Problems) != 1 || r.Problems[0].Code != c.code || r.Problems[0].Seq != c.at {
				t.Errorf("ok %v, %+v; want %s at entry %d", r.OK, r.Problems, c.code, c.at)
			}
			if r.Attempts > 4 || r.Redecided != r.Attempts {
				t.Errorf("%+v", r)
			}
			if after, _ := os.ReadFile(filepath.Join(dir, "journal.jsonl")); !bytes.Equal(before, after) {
				t.Error("a replay wrote")
			}
			if p, err := pdp.Open(dir, pdp.Options{}); err == nil {
				t.Error("the directory opens for deciding")
				_ = p.Close()
			}
		})
	}
}

var shared string

// copyOf is a copy of the story, which is made once.
func copyOf(t testing.TB) string {
	t.Helper()
	if shared == "" {
		from := story(t)
		to, err := os.MkdirTemp("", "story-")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(filepath.Join(to, "s"), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		shared = to
	}
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(shared, "s"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared != "" {
		_ = os.RemoveAll(shared)
	}
	os.Exit(code)
}

// TestDamageWithoutHashes is the journal's own to find; the report carries its
// number and code.
func TestDamageWithoutHashes(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(lines [][]byte) [][]byte
		code   string
		seq    uint64
	}{
		{"a flipped byte", func(l [][]byte) [][]byte { l[3][20] ^= 1; return l }, journal.HashWrong, 4},
		{"a dropped entry", func(l [][]byte) [][]byte { return slices.Delete(l, 2, 3) }, journal.SeqWrong, 3},
		{"swapped entries", func(l [][]byte) [][]byte { l[4], l[5] = l[5], l[4]; return l }, journal.SeqWrong, 5},
		{"an entry twice", func(l [][]byte) [][]byte { return slices.Insert(l, 5, l[4]) }, journal.SeqWrong, 6},
		{"the last entry's bytes", func(l [][]byte) [][]byte { l[8][20] ^= 1; return l }, journal.HashWrong, 9},
		{"a line of nothing", func(l [][]byte) [][]byte { return slices.Insert(l, 5, []byte("\n")) }, journal.Malformed, 6},
		{"nothing at all", func([][]byte) [][]byte { return nil }, journal.Malformed, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := copyOf(t)
			path := filepath.Join(dir, "journal.jsonl")
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines := slices.Collect(bytes.Lines(text))
			if err := os.WriteFile(path, bytes.Join(c.damage(lines), nil), 0o600); err != nil {
				t.Fatal(err)
			}
			r := replay(t, dir, reexam.Options{})
			if r.OK || len(r.Problems) != 1 || r.Problems[0].Code != c.code || r.Problems[0].Seq != c.seq {
				t.Errorf("ok %v, %+v; want %s at entry %d", r.OK, r.Problems, c.code, c.seq)
			}
		})
	}
}

// TestATornLastLine is told and left; a tail that was cut at an entry's end is
// found by the head alone.
func TestATornLastLine(t *testing.T) {
	dir := copyOf(t)
	path := filepath.Join(dir, "journal.jsonl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head := read(t, dir)[8].Hash
	for _, torn := range [][]byte{append(bytes.Clone(text), `{"body":`...), append(bytes.Clone(text), 0, 0, 0)} {
		if err := os.WriteFile(path, torn, 0o600); err != nil {
			t.Fatal(err)
		}
		r := replay(t, dir, reexam.Options{Head: head})
		if !r.OK || r.Torn == "" || r.Entries != 9 || r.Head != head {
			t.Fatalf("%+v", r)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(after, torn) {
			t.Fatal("the torn line was not left")
		}
	}
	cut := bytes.Join(slices.Collect(bytes.Lines(text))[:7], nil)
	if err := os.WriteFile(path, cut, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := replay(t, dir, reexam.Options{}); !r.OK || r.Entries != 7 {
		t.Fatalf("%+v", r)
	}
	r := replay(t, dir, reexam.Options{Head: head})
	if r.OK || len(r.Problems) != 1 || r.Problems[0].Code != "head_missing" || r.Problems[0].Seq != 7 {
		t.Fatalf("%+v", r)
	}
}

// TestTheFailedEntryIsNotCounted as one that was verified.
func TestTheFailedEntryIsNotCounted(t *testing.T) {
	dir := copyOf(t)
	write(t, dir, edit(`"permit":false`, `"permit":true`)(t, dir, read(t, dir), 2))
	if r := replay(t, dir, reexam.Options{}); r.Entries != 2 {
		t.Fatalf("%d entries are said to be verified; the third does not follow", r.Entries)
	}
}

// late is a context that ends after it was first looked at.
type late struct {
	context.Context
	cancel func()
	looks  int
}

func (c *late) Err() error {
	if c.looks++; c.looks == 5 {
		c.cancel()
	}
	return c.Context.Err()
}

// TestAnInterruptedReplayFindsNothing stops in the middle of an entry: it is an
// interruption and no damage.
func TestAnInterruptedReplayFindsNothing(t *testing.T) {
	dir := copyOf(t)
	for looks := range 12 {
		ctx, cancel := context.WithCancel(context.Background())
		r, err := reexam.Replay(&late{Context: ctx, cancel: cancel, looks: 5 - looks}, dir, reexam.Options{Versions: pdp.Versions()})
		cancel()
		if len(r.Problems) > 0 {
			t.Errorf("looked %d times: %v, %+v", looks, err, r.Problems)
		}
	}
}

// TestAgainst decides the story under stricter, looser and equal bundles.
func TestAgainst(t *testing.T) {
	changes := func(more map[string]func(string) string) *bundle.Bundle {
		m := map[string]func(string) string{"conjunct/authority/data.yaml": reviewers}
		maps.Copy(m, more)
		return load(t, m)
	}
	dir := copyOf(t)
	t.Run("the same", func(t *testing.T) {
		if r := replay(t, dir, reexam.Options{Against: changes(nil)}); !r.OK || len(r.Changes) != 0 {
			t.Fatalf("%+v", r)
		}
	})
	t.Run("stricter", func(t *testing.T) {
		b := changes(map[string]func(string) string{"conjunct/registry/data.yaml": swap("read_ticket:\n    {reversibility: reversible, blast_radius: task", "read_ticket:\n    {reversibility: irreversible, blast_radius: system")})
		r := replay(t, dir, reexam.Options{Against: b})
		if !r.OK || len(r.Changes) != 1 {
			t.Fatalf("%+v", r)
		}
		want := reexam.Change{TraceID: "t", CallID: "c1", Was: engine.Allow, Now: engine.Block, Cause: "floor irreversible-system-out-of-scope", Seq: 2}
		if got := r.Changes[0]; got != want || got.NewlyAllowed() {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
	t.Run("looser and stricter at once", func(t *testing.T) {
		b := changes(map[string]func(string) string{"conjunct/registry/data.yaml": func(s string) string {
			s = swap("read_ticket:\n    {reversibility: reversible, blast_radius: task", "read_ticket:\n    {reversibility: irreversible, blast_radius: system")(s)
			return swap("deprovision_account:\n    {reversibility: irreversible, blast_radius: system, absorbed_by: customer, detection_latency: days", "deprovision_account:\n    {reversibility: reversible, blast_radius: task, absorbed_by: agent, detection_latency: immediate")(s)
		}})
		r := replay(t, dir, reexam.Options{Against: b})
		if !r.OK || len(r.Changes) != 2 {
			t.Fatalf("%+v", r)
		}
		if c := r.Changes[0]; !c.NewlyAllowed() || c.TraceID != "u" || c.Was != engine.Block || c.Cause != "floor irreversible-system-out-of-scope" || c.Seq != 8 {
			t.Errorf("the first is %+v, want the newly allowed one", c)
		}
		if c := r.Changes[1]; c.NewlyAllowed() || c.Seq != 2 {
			t.Errorf("the second is %+v", c)
		}
	})
	t.Run("a gate added, and taken away", func(t *testing.T) {
		gated := changes(map[string]func(string) string{"conjunct/cel/data.yaml": func(s string) string {
			return s + `
  - name: ticket-prefix
    match: {tools: [read_ticket]}
    expression: args.ticket.startsWith("REQ-")
    reason: ticket_prefix
    on_fail: block
    on_unknown: block
`
		}})
		r := replay(t, dir, reexam.Options{Against: gated})
		want := reexam.Change{TraceID: "t", CallID: "c1", Was: engine.Allow, Now: engine.Block, Cause: "ticket-prefix", Seq: 2}
		if !r.OK || len(r.Changes) != 1 || r.Changes[0] != want {
			t.Fatalf("got %+v, want %+v", r, want)
		}
		r = replay(t, storyOf(t, gated), reexam.Options{Against: changes(nil)})
		want.Was, want.Now = engine.Block, engine.Allow
		if !r.OK || len(r.Changes) != 1 || r.Changes[0] != want {
			t.Fatalf("got %+v, want %+v", r, want)
		}
	})
	t.Run("nobody may review", func(t *testing.T) {
		r := replay(t, dir, reexam.Options{Against: load(t, nil)})
		// The approval counts no more: what it released is held.
		if !r.OK || len(r.Changes) != 1 || r.Changes[0].Seq != 5 || r.Changes[0].Was != engine.Allow || r.Changes[0].Now != engine.Review {
			t.Fatalf("%+v", r)
		}
	})
	t.Run("with damage", func(t *testing.T) {
		dir := copyOf(t)
		write(t, dir, edit(`"permit":false`, `"permit":true`)(t, dir, read(t, dir), 2))
		if r := replay(t, dir, reexam.Options{Against: changes(nil)}); r.OK || len(r.Problems) != 1 {
			t.Fatalf("%+v", r)
		}
	})
}

// TestTheReportsForm is what section 14 of the design fixes.
func TestTheReportsForm(t *testing.T) {
	text, err := json.Marshal(replay(t, copyOf(t), reexam.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"entries": 9.0, "attempts": 4.0, "redecided": 4.0, "imposed": 0.0, "ok": true, "problems": []any{}, "changes": []any{}} {
		if got := m[name]; fmt.Sprint(got) != fmt.Sprint(want) || got == nil {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}
