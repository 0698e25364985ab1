package signals

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/conjunct-project/conjunct/engine"
)

// changeKind is what became of a test.
type changeKind string

const (
	skipMarker         changeKind = "skip_marker"
	testDeleted        changeKind = "deleted"
	contentEmptied     changeKind = "emptied"
	assertionRemoved   changeKind = "assertion_removed"
	assertionWeakened  changeKind = "assertion_weakened"
	expectationChanged changeKind = "expectation_changed"
	caseRemoved        changeKind = "case_removed"
	notCollected       changeKind = "not_collected"
	buildTag           changeKind = "build_tag"
	ciCannotFail       changeKind = "ci_cannot_fail"
	ciCondition        changeKind = "ci_condition"
	ciStepRemoved      changeKind = "ci_step_removed"
	thresholdLowered   changeKind = "threshold_lowered"
)

const (
	sure   certainty = "certain"
	likely certainty = "possible"
)

// maxFile is the size of the largest file that an edit is seen in.
const maxFile = 1 << 20

// maxSource is the size of the largest source text that is compared.
const maxSource = 1 << 17

// change is one way in which tests demand less, or something else.
type change struct {
	what      changeKind
	name      string // of the test
	marker    string
	certainty certainty
}

// testFacts says what a call takes from the tests: added markers that skip them,
// files and cases that are gone or not collected any more, assertions that are
// gone, weaker or expect something else, pipelines that cannot fail. A file that
// moves to where it is still collected is in moves and is no change.
func testFacts(d *Detector, ctx context.Context, c *Call, w World) (map[string]any, []Unknown) {
	r := review{collection: d.tests, roots: d.scope.Roots, call: c, world: w, tree: c.look(w), rows: map[string]map[string]any{}, moved: []any{}}
	r.deletions()
	r.moves()
	r.edits()
	r.commands(d.script(ctx, c, w))
	if ctx.Err() != nil {
		r.miss("", "timeout")
	}
	list := []any{}
	for _, key := range sortedKeys(r.rows) {
		list = append(list, r.rows[key])
	}
	facts := map[string]any{"seen": list}
	if len(r.unknown) == 0 {
		facts["changes"] = list
		facts["moves"] = nonNilList(r.moved)
	}
	return facts, r.unknown
}

// review goes through what a call does to files.
type review struct {
	collection
	roots   []string
	call    *Call
	world   World
	tree    *tree
	rows    map[string]map[string]any
	moved   []any
	unknown []Unknown
}

func (r *review) miss(at, code string) {
	r.unknown = append(r.unknown, Unknown{Family: Tests, Code: code, Where: at})
}

// add notes changes of a file, once each.
func (r *review) add(at, file string, e ecosystem, changes ...change) {
	for _, c := range changes {
		row := map[string]any{"argument": at, "path": file, "ecosystem": string(e), "change": string(c.what), "certainty": string(c.certainty)}
		if c.name != "" {
			row["name"] = c.name
		}
		if c.marker != "" {
			row["marker"] = c.marker
		}
		key := strings.Join([]string{at, file, string(c.what), c.name, c.marker}, "\x00")
		if have, ok := r.rows[key]; !ok || have["certainty"] != string(sure) {
			r.rows[key] = row
		}
	}
}

// value is one text of an argument and where it stands.
type value struct{ at, text string }

// values lists the texts of the arguments of a kind.
func (r *review) values(kind engine.ArgumentKind) (list []value) {
	for _, name := range r.call.given() {
		if r.call.Tool.Arguments[name].Kind != kind {
			continue
		}
		at := engine.Pointer(name)
		switch v := r.call.Action.Arguments[name].(type) {
		case string:
			list = append(list, value{at, v})
		case []any:
			for i, e := range v {
				inner := at + "/" + strconv.Itoa(i)
				if text, ok := e.(string); ok {
					list = append(list, value{inner, text})
				} else {
					r.miss(inner, "argument_mismatch")
				}
			}
		case nil:
		default:
			r.miss(at, "argument_mismatch")
		}
	}
	return list
}

// place is the absolute name of a file and its name below the directory that the
// task works in.
func (r *review) place(name string) (absolute, below string) {
	if strings.HasPrefix(name, "/") {
		absolute = path.Clean(name)
	} else if strings.HasPrefix(r.world.Dir, "/") {
		absolute = path.Join(r.world.Dir, name)
	}
	below = path.Clean(name)
	if rest, ok := strings.CutPrefix(absolute, strings.TrimSuffix(r.world.Dir, "/")+"/"); ok && r.world.Dir != "" {
		below = rest
	}
	return absolute, below
}

// kindOf is the ecosystem that a file belongs to as a test, a pipeline or a
// configuration of tests.
func (r *review) kindOf(below string) (ecosystem, bool) {
	if e, ok := r.test(below); ok {
		return e, true
	}
	switch {
	case pipelines.MatchString(below):
		return ciFiles, true
	case settings.MatchString(below):
		return configFiles, true
	case snapshotFile.MatchString(below):
		return snapshots, true
	}
	return "", false
}

// subject is what a name stands for: where it says, or where links lead. A file
// is a test by either name.
func (r *review) subject(name string, follow bool) (absolute, below string, e ecosystem, ok bool) {
	absolute, below = r.place(name)
	if e, ok = r.kindOf(below); ok || r.world.Files == nil {
		return absolute, below, e, ok
	}
	p := r.tree.resolve(name, follow)
	if p.unknown != "" {
		return absolute, below, e, false
	}
	for _, other := range append(slices.Clip(p.forms), p.resolved) {
		_, b := r.place(other)
		if b == below {
			continue // nearly always
		}
		if e, ok = r.kindOf(b); ok {
			return p.resolved, b, e, true
		}
	}
	return p.resolved, below, e, false
}

func (r *review) deletions() {
	for _, v := range r.values(engine.DeleteKind) {
		r.deletion(v.at, v.text, sure)
	}
}

func (r *review) deletion(at, name string, c certainty) {
	absolute, below, e, ok := r.subject(name, false)
	switch {
	case ok && e == snapshots:
		r.add(at, name, e, change{what: expectationChanged, certainty: c})
	case ok:
		r.add(at, name, e, change{what: testDeleted, certainty: c})
	case testFolder.MatchString(below) && path.Ext(below) == "":
		r.add(at, name, "", change{what: testDeleted, certainty: c})
	case path.Ext(below) == ".rs" || strings.ContainsAny(below, "*?["):
		r.miss(at, "unseen") // tests may be in it
	case r.directory(absolute, below):
		r.miss(at, "directory")
	}
}

// directory reports whether a name may be one of a directory, with tests in it.
func (r *review) directory(absolute, below string) bool {
	if r.world.Files == nil || absolute == "" {
		return path.Ext(below) == ""
	}
	info, err := r.world.Files.Lstat(absolute)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	return err != nil || info.IsDir()
}

func (r *review) moves() {
	from, to := r.values(engine.FromKind), r.values(engine.ToKind)
	if len(from) == 0 {
		return
	}
	if len(to) == 0 {
		r.miss(from[0].at, "argument_mismatch")
		return
	}
	for i, f := range from {
		r.move(f.at, f.text, to[min(i, len(to)-1)].text, sure)
	}
}

func (r *review) move(at, from, to string, c certainty) {
	absolute, source, e, ok := r.subject(from, false)
	_, target := r.place(to)
	switch {
	case !ok && r.directory(absolute, source):
		if testFolder.MatchString(source) {
			r.add(at, from, "", change{what: notCollected, certainty: likely})
		}
		r.miss(at, "directory")
		return
	case !ok:
		return
	}
	// A move into a directory keeps the name.
	if strings.HasSuffix(to, "/") || path.Ext(target) == "" && path.Ext(source) != "" {
		target = path.Join(target, path.Base(source))
	}
	still := r.collected(target) && r.within(target) == r.within(source)
	if e == ciFiles || e == configFiles || e == snapshots {
		f, same := r.kindOf(target)
		still = same && f == e && path.Dir(source) == path.Dir(target)
	} else if !r.collected(source) {
		return
	}
	if over, below, kind, isTest := r.subject(target, false); isTest && r.exists(over) {
		r.add(at, below, kind, change{what: testDeleted, certainty: sure}) // it is written over
	}
	r.moved = append(r.moved, map[string]any{"argument": at, "from": from, "to": to, "collected": still})
	switch {
	case !still:
		r.add(at, from, e, change{what: notCollected, certainty: c})
	case e == goTests && goOS.MatchString(target) && !goOS.MatchString(source):
		r.add(at, from, e, change{what: notCollected, certainty: likely})
	}
}

// within reports whether a name is in the directory that the task works in, or in
// one of its roots.
func (r *review) within(below string) bool {
	if below == ".." || strings.HasPrefix(below, "../") {
		return false
	}
	return !strings.HasPrefix(below, "/") || slices.ContainsFunc(r.roots, func(root string) bool {
		return strings.HasPrefix(root, "/") && strings.HasPrefix(below, strings.TrimSuffix(path.Clean(root), "/")+"/")
	})
}

// exists reports whether there is a file of a name, as far as can be seen.
func (r *review) exists(absolute string) bool {
	if r.world.Files == nil || absolute == "" {
		return false
	}
	_, err := r.world.Files.Lstat(absolute)
	return err == nil
}

// edits looks at what is written into files.
func (r *review) edits() {
	paths := r.values(engine.PathKind)
	before, after := r.values(engine.BeforeKind), r.values(engine.AfterKind)
	content := r.values(engine.ContentKind)
	for _, v := range r.values(engine.Base64Kind) {
		raw, err := base64.StdEncoding.DecodeString(v.text)
		if err != nil {
			r.miss(v.at, "not_base64")
			continue
		}
		content = append(content, value{v.at, string(raw)})
	}
	for _, p := range paths {
		_, below, e, ok := r.subject(p.text, true)
		if !ok && path.Ext(below) != ".rs" {
			continue
		}
		if !ok {
			e = rustTests
		}
		switch {
		case len(after) > 0 || len(before) > 0:
			r.edit(p, e, before, after)
		case len(content) > 0:
			for _, v := range content {
				r.write(p, v, e)
			}
		case r.call.Tool.Effect != engine.Read && len(r.values(engine.CommandKind)) == 0:
			r.miss(p.at, "no_content")
		}
	}
}

// edit looks at a replacement, in the whole file where it can be seen: what is
// code and what is a string is plain there.
func (r *review) edit(p value, e ecosystem, before, after []value) {
	for i := range max(len(before), len(after)) {
		var was, now string
		at := p.at
		if i < len(before) {
			was, at = before[i].text, before[i].at
		}
		if i < len(after) {
			now, at = after[i].text, after[i].at
		}
		if text, ok, _ := r.read(p); ok && was != "" && strings.Contains(text, was) {
			was, now = text, strings.ReplaceAll(text, was, now)
		}
		r.compare(at, p.text, e, was, now, true)
	}
}

// write looks at the new content of a file.
func (r *review) write(p, content value, e ecosystem) {
	if r.world.Files == nil {
		r.miss(content.at, "unseen")
	}
	was, exists, err := r.read(p)
	if err != nil {
		r.miss(content.at, "unreadable")
	}
	r.compare(content.at, p.text, e, was, content.text, exists)
}

// read reads a file as it is. A file that does not exist is none and no error.
func (r *review) read(p value) (text string, exists bool, err error) {
	absolute, _ := r.place(p.text)
	if r.world.Files == nil {
		return "", false, nil
	}
	if absolute == "" {
		return "", false, fs.ErrInvalid
	}
	raw, err := r.world.Files.ReadFile(absolute, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, nil
	case err != nil:
		return "", false, err
	case !utf8.Valid(raw) || bytes.IndexByte(raw, 0) >= 0:
		return "", true, fs.ErrInvalid
	}
	return string(raw), true, nil
}

// compare says what an edit changes. Of a file that was not there before only
// markers count.
func (r *review) compare(at, file string, e ecosystem, before, after string, existed bool) {
	before, after = strings.ReplaceAll(before, "\r\n", "\n"), strings.ReplaceAll(after, "\r\n", "\n")
	if existed && strings.TrimSpace(before) != "" && strings.TrimSpace(after) == "" {
		r.add(at, file, e, change{what: contentEmptied, certainty: sure})
		return
	}
	if e == snapshots {
		if existed && before != after {
			r.add(at, file, e, change{what: expectationChanged, certainty: sure})
		}
		return
	}
	if len(before) > maxSource || len(after) > maxSource {
		r.miss(at, "too_large")
		return
	}
	if e == ciFiles || e == configFiles {
		changes := comparePipelines(e, file, before, after)
		if !existed {
			changes = slices.DeleteFunc(changes, func(c change) bool { return c.what == ciCondition })
		}
		r.add(at, file, e, changes...)
		return
	}
	was, whole := lex(languages[e], before)
	now, alsoWhole := lex(languages[e], after)
	if !whole || !alsoWhole {
		r.miss(at, "unparsed")
	}
	was, now = spoken(e, was), spoken(e, now)
	if e == rustTests && !holdsRustTests(was) && !holdsRustTests(now) {
		return
	}
	room := make([]token, 0, max(len(was), len(now)))
	r.add(at, file, e, compareMarkers(markers(e, was, room), withoutAdded(e, was, now, room, existed))...)
	if !existed {
		return
	}
	cases, lost := compareCases(e, was, now)
	r.add(at, file, e, cases...)
	demands, _ := difference(assertions(e, was), lost)
	inputs, answers := movedValues(e, was, now)
	r.add(at, file, e, compareAssertions(demands, assertions(e, now), inputs, answers)...)
	r.add(at, file, e, compareMocks(e, was, now)...)
	r.add(at, file, e, compareRows(rows(e, was), rows(e, now))...)
}

// withoutAdded lists the markers of a file without the handlers of failures in
// tests that are only added: there they took nothing from what was there before.
func withoutAdded(e ecosystem, was, now, room []token, existed bool) []marker {
	list := markers(e, now, room)
	handles := func(m marker) bool { return m.what == assertionWeakened && m.certainty == likely }
	if !slices.ContainsFunc(list, handles) {
		return list
	}
	if !existed {
		return slices.DeleteFunc(list, handles)
	}
	before, added := functions(e, was), []function(nil)
	for _, f := range functions(e, now) {
		at := slices.IndexFunc(before, func(g function) bool { return g.name == f.name })
		if at < 0 {
			added = append(added, f)
			continue
		}
		before = slices.Delete(before, at, at+1)
	}
	if len(before) > 0 {
		return list // one of those added may be another one by a new name
	}
	for _, f := range added {
		for _, m := range markers(e, f.body(), room) {
			if at := slices.Index(list, m); at >= 0 && handles(m) {
				list = slices.Delete(list, at, at+1)
			}
		}
	}
	return list
}

// holdsRustTests reports whether Rust source has tests in it, as any may.
func holdsRustTests(ts []token) bool {
	for i := 2; i < len(ts); i++ {
		if ts[i-1].is("[") && ts[i-2].is("#") && strings.Contains(plain(ts[i:group(ts, i-1)]), "test") {
			return true
		}
	}
	return slices.ContainsFunc(ts, func(t token) bool { return rustAssert.MatchString(t.text) && t.kind == wordToken })
}

// commands looks at what command lines delete, move and write. What a command
// writes into a test is not known before it runs.
func (r *review) commands(s *script) {
	for _, u := range s.unknown {
		r.miss(u.Where, u.Code)
	}
	for _, c := range s.commands {
		var from, to []touch
		veiled := slices.ContainsFunc(c.touches, func(t touch) bool { return t.guessed }) && opaque(c)
		for i := range c.touches {
			t := &c.touches[i]
			switch {
			case t.guessed:
				if (t.access == write || veiled) && r.concerns(*t) {
					r.miss(t.argument, "unseen")
				}
			case t.unknown != "" && t.access != read:
				r.miss(t.argument, t.unknown)
			case t.access == remove:
				from = append(from, *t)
			case t.access == write:
				to = append(to, *t)
			}
		}
		if len(to) > 0 && moves(c) {
			for _, f := range from {
				r.move(f.argument, absolute(f), absolute(to[len(to)-1]), sure)
			}
			continue
		}
		for _, f := range from {
			r.deletion(f.argument, absolute(f), sure)
		}
		for _, t := range to {
			if r.concerns(t) {
				r.miss(t.argument, "unseen")
			}
		}
	}
}

// concerns reports whether what a command touches is a test or decides on tests.
func (r *review) concerns(t touch) bool {
	_, _, _, ok := r.subject(absolute(t), true)
	return ok
}

// formatters are programs that change how a test is written and not what it says.
var formatters = []string{"gofmt", "goimports", "gofumpt", "black", "isort", "prettier", "rustfmt", "yapf", "autopep8", "clang-format", "google-java-format", "ktlint"}

// opaque reports whether nobody knows what a command does to the files that it
// names. Programs that run, check or format tests are given them all the time.
func opaque(c *invocation) bool {
	if c.known && !slices.Contains(c.problems, "inline_code") {
		return false
	}
	var text []string
	for _, w := range c.words {
		text = append(text, w.text)
	}
	return !slices.Contains(formatters, path.Base(c.program())) && !runsTests.MatchString(strings.Join(text, " "))
}

// moves reports whether a command gives files other names.
func moves(c *invocation) bool {
	words := make([]string, 0, 2)
	for _, w := range c.words {
		if !strings.HasPrefix(w.text, "-") && len(words) < 2 {
			words = append(words, path.Base(w.text))
		}
	}
	return len(words) > 0 && (words[0] == "mv" || words[0] == "git" && slices.Contains(words, "mv"))
}

// absolute is the name of what a command touches, from where it runs.
func absolute(t touch) string {
	if strings.HasPrefix(t.declared, "/") || t.dir == "" || strings.HasPrefix(t.declared, "~") && !t.literal {
		return t.declared
	}
	return path.Join(t.dir, t.declared)
}
