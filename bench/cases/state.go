package cases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/reexam"
	"github.com/conjunct-project/conjunct/signals"
)

// The trace that a case plays in.
const trace = "case"

// stage is a case on a state of its own.
type stage struct {
	ctx   context.Context
	s     *setup
	p     *pdp.PDP
	world signals.World
	now   int64
	calls int
	// reviewed is the decision that was last put before a person.
	reviewed engine.Decision
}

// run decides the call of a case after what happened before it.
func (s *setup) run(ctx context.Context, c Case, dir string) (answered, error) {
	now, err := s.instant()
	if err != nil {
		return answered{Error, "the time is not known: " + err.Error()}, nil
	}
	asked := call{Tool: c.Request.Tool, Arguments: c.Request.Arguments}
	if s.scope["commands"] != nil {
		asked.Arguments = commandLine(asked.Arguments)
	}
	if s.costLimit > 0 {
		asked.Arguments = described.ReplaceAllFunc(asked.Arguments, ints)
	}
	if err := s.prepare(asked); err != nil {
		return refused(err)
	}
	files := filepath.Join(dir, "files")
	if err := os.Mkdir(files, 0o700); err != nil {
		return answered{}, err
	}
	s.tree.folders(asked)
	world, done, err := s.tree.build(files)
	if err != nil {
		return refused(err)
	}
	defer done()
	b, err := s.bundle(asked)
	if err != nil {
		return refused(err)
	}
	if len(s.history.trace) > 0 {
		if b, err = s.follow(ctx, b, asked, world, now); err != nil {
			return refused(err)
		}
	}
	return s.decideOn(ctx, filepath.Join(dir, "state"), b, asked, world, now)
}

// described is a list that a case describes instead of writing it out.
var described = regexp.MustCompile(`"([1-9][0-9]{0,3}) ints"`)

func ints(text []byte) []byte {
	n, _ := strconv.Atoi(string(described.FindSubmatch(text)[1]))
	list := make([]int, n)
	for i := range list {
		list[i] = i + 1
	}
	out, _ := json.Marshal(list)
	return out
}

// prepare lays what the call needs into registry and scope.
func (s *setup) prepare(asked call) error {
	arguments, err := asked.arguments()
	if err != nil {
		return err
	}
	if err := s.listGates(arguments); err != nil {
		return err
	}
	if err := s.ownRules(); err != nil {
		return err
	}
	s.restGate()
	s.limitGates()
	s.attest(arguments)
	s.deniedGate(asked.Tool)
	if len(s.tree.roots) > 0 {
		s.tree.roots = s.reach()
	}
	if s.origins != nil {
		s.gates = append(s.gates, celGate{Name: "origins", Expression: "size(facts.origin.arguments) == 0", Message: "a value does not come from the user", OnFail: "review", OnUnknown: "review"})
	}
	for _, c := range s.history.trace {
		s.wrote(c)
	}
	calls := append(slices.Clone(s.history.trace), asked)
	calls = append(calls, s.history.rejected...)
	if a := s.history.approval; a != nil {
		if a.Tool == "" {
			a.Tool = asked.Tool
		}
		calls = append(calls, a.call)
	}
	if err := s.declare(calls); err != nil {
		return err
	}
	if s.history.approval != nil || s.history.unasked || len(s.history.rejected) > 0 {
		for _, c := range calls[len(s.history.trace):] {
			s.tools[c.Tool]["reversibility"], s.tools[c.Tool]["blast_radius"] = "costly", "system"
		}
	}
	if s.plan != nil {
		s.underCritic(asked)
	}
	return s.bear(asked)
}

// underCritic puts a planned call under a critic, as a call that cannot be undone
// and whose plan therefore has to hold.
func (s *setup) underCritic(asked call) {
	s.tools[asked.Tool]["reversibility"] = "irreversible"
	s.contract["critic"] = map[string]any{"tools": []string{asked.Tool}}
	s.criticGate = true
}

// step is one step of a case's plan: what it says, in words, and which tool it
// takes.
type step struct{ id, tool, words string }

// UnmarshalJSON reads a step that is told in words, the tool first, or as a call.
func (p *step) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &p.words) == nil {
		p.tool, _, _ = strings.Cut(p.words, " ")
		return nil
	}
	var told struct {
		ID, Tool, Step string
		Arguments      json.RawMessage
	}
	if err := strictly(text, &told); err != nil {
		return &unsupported{"a step of the plan: " + err.Error()}
	}
	p.id, p.tool, p.words = told.ID, told.Tool, told.Step
	if p.tool == "" {
		p.tool, _, _ = strings.Cut(told.Step, " ")
	}
	if p.words == "" {
		p.words = strings.TrimSpace(told.Tool + " " + string(told.Arguments))
	}
	return nil
}

// done reports whether a step is among those that are done, by its words or its id.
// The name of its tool is not enough: another step may take the same.
func (p step) done(done []step) bool {
	return slices.ContainsFunc(done, func(d step) bool {
		return d.words == p.words || p.id != "" && (d.id == p.id || d.words == p.id)
	})
}

// steps is the plan of a case: each step needs what the one before it leaves,
// unless that is done.
func (s *setup) steps() map[string]any {
	var steps []any
	before := ""
	for i, p := range s.plan {
		after := fmt.Sprintf("done: %s", p.words)
		steps = append(steps, map[string]any{"id": fmt.Sprintf("s%d", i+1), "tool": p.tool, "arguments": map[string]any{}, "precondition": before,
			"postcondition": after, "assertion": "", "forward_effects": 1, "rollback_effects": 1})
		if before = after; p.done(s.done) {
			before = ""
		}
	}
	return map[string]any{"steps": steps}
}

// wrote puts what an earlier call writes into the tree. Where that call was
// blocked, the path is out of bounds and what lies there does not matter.
func (s *setup) wrote(c call) {
	arguments, err := c.arguments()
	if err != nil {
		return
	}
	byKind := map[string]string{}
	for name, raw := range arguments {
		var value string
		if json.Unmarshal(raw, &value) == nil && kindOf(name) != "" {
			byKind[kindOf(name)] = value
		}
	}
	content, ok := byKind["content"]
	if !ok {
		// Of an edit that part is known.
		content, ok = byKind["after"]
	}
	if ok && byKind["path"] != "" {
		s.tree.nodes[s.tree.absolute(byKind["path"])] = node{Content: &content}
	}
	s.tree.linkedBy(byKind["command"])
}

// bear declares what the case's rules read and what it requires of the tool.
func (s *setup) bear(asked call) error {
	t := s.tools[asked.Tool]
	if t == nil {
		return nil
	}
	declared, _ := t["arguments"].(map[string]any)
	for _, name := range s.history.reads {
		if _, have := declared[name]; !have {
			declared[name] = map[string]any{"type": "any"}
		}
	}
	if len(s.history.required) > 0 {
		t["requires"] = map[string]any{"evidence": s.history.required}
	}
	return nil
}

// outOfScope puts what a rejected call was aimed at on the deny lists.
func (s *setup) outOfScope(r call) {
	arguments, err := r.arguments()
	if err != nil {
		return
	}
	for name, raw := range arguments {
		var value string
		if json.Unmarshal(raw, &value) != nil {
			continue
		}
		switch kindOf(name) {
		case "path", "from", "to":
			s.addTo("paths", value)
		case "url":
			if u, err := url.Parse(value); err == nil && u.Hostname() != "" {
				s.addTo("hosts", u.Hostname())
			}
		}
	}
}

func (s *setup) addTo(section, value string) {
	lists, _ := s.scope[section].(map[string]any)
	have, _ := lists["deny"].([]string)
	if !slices.Contains(have, value) {
		s.list(section, "deny", append(slices.Clone(have), value))
	}
}

func (s *setup) bundle(asked call) (*bundle.Bundle, error) {
	var tools []string
	if s.tools[asked.Tool] != nil {
		tools = []string{asked.Tool}
	} else {
		tools = slices.Sorted(maps.Keys(s.tools))
	}
	b, err := s.load(tools)
	var problems *bundle.LoadError
	if errors.As(err, &problems) {
		// Only the case's own policy may be what does not load: without it the
		// bundle does, or the set-up is at fault and proves nothing.
		if _, without := s.bare().load(tools); without != nil {
			return nil, &unsupported{"the set-up does not load: " + without.Error()}
		}
	}
	return b, err
}

func (s *setup) load(tools []string) (*bundle.Bundle, error) {
	files, err := s.files(tools)
	if err != nil {
		return nil, err
	}
	return s.loader.load(files)
}

// bare is the set-up without what the case says as policy of its own.
func (s *setup) bare() *setup {
	c := *s
	c.gates, c.modules, c.settings = nil, nil, map[string]any{}
	c.rules = nil
	c.scope = maps.Clone(s.scope)
	for _, own := range ownPolicy {
		delete(c.scope, own)
	}
	return &c
}

// ownPolicy are the keys of the scope that only gates of the case read.
var ownPolicy = []string{"values", "limits", "parameters", "windows", "policy_version"}

// follow plays the earlier calls, each under what the ones before it came to. What
// an allowed one writes is there; what a blocked one would have made is out of
// bounds, whoever names it later. What they spent is spent, unless the case says
// how much that is.
func (s *setup) follow(ctx context.Context, b *bundle.Bundle, asked call, w signals.World, now int64) (*bundle.Bundle, error) {
	var fresh []string
	for i, c := range s.history.trace {
		doc, err := document(trace, fmt.Sprintf("before-%d", i), c, nil)
		if err != nil {
			return nil, err
		}
		a, err := action.Decode(doc)
		if err != nil {
			return nil, err
		}
		facts, missing := b.Facts(ctx, a, now, w)
		d := engine.Decide(ctx, b, engine.Input{Action: a, Facts: facts, FactsUnknown: missing, State: b.Start(), Now: now})
		out := false
		for _, name := range touched(facts, "write") {
			if d.Outcome == engine.Block {
				out = true
				s.addTo("paths", name)
			}
			if !slices.Contains(fresh, name) {
				fresh = append(fresh, name)
			}
		}
		if d.Outcome != engine.Block && s.pay(c) || out {
			if b, err = s.bundle(asked); err != nil {
				return nil, err
			}
		}
	}
	if len(fresh) == 0 {
		return b, nil
	}
	s.list("paths", "written", fresh)
	s.gates = append(s.gates, celGate{Name: "written-before", Expression: "!facts.path.paths.exists(p, p.access == 'execute' && 'written' in p.lists_folded)",
		Message: "what runs was written in this task", OnFail: "review", OnUnknown: "review"})
	return s.bundle(asked)
}

// touched lists the paths that a call's facts say it touches in one of the ways
// named.
func touched(facts map[string]any, access ...string) (out []string) {
	family, _ := facts[string(signals.Path)].(map[string]any)
	seen, _ := family["seen"].([]any)
	for _, p := range seen {
		entry, _ := p.(map[string]any)
		if name, ok := entry["resolved"].(string); ok && slices.ContainsFunc(access, func(a string) bool { return entry["access"] == a }) {
			out = append(out, name)
		}
	}
	return out
}

// decideOn opens a state with the bundle and decides the call on it.
func (s *setup) decideOn(ctx context.Context, dir string, b *bundle.Bundle, asked call, w signals.World, now int64) (answered, error) {
	st := &stage{ctx: ctx, s: s, world: w, now: now}
	if s.history.none() {
		d, err := st.dry(b, asked)
		if err != nil {
			return refused(err)
		}
		return answerOf(&d), nil
	}
	if s.history.approval != nil {
		st.now = s.history.approval.given(now)
	}
	if err := pdp.Init(dir, b, st.now); err != nil {
		return answered{}, err
	}
	var err error
	st.p, err = pdp.Open(dir, pdp.Options{World: w, Now: func() int64 { return st.now }})
	if err != nil {
		return answered{}, err
	}
	defer st.p.Close()
	if err := st.before(asked); err != nil {
		return refused(err)
	}
	st.now = now
	d, err := st.propose(asked)
	if err != nil {
		return refused(err)
	}
	a := answerOf(&d)
	if a.answer == Review && s.history.approval != nil {
		// There is a yes, and it is not for this call.
		a.answer = Block
	}
	return a, nil
}

// before plays approvals, rejections and reports.
func (st *stage) before(asked call) error {
	for _, r := range st.s.history.rejected {
		if err := st.reject(r); err != nil {
			return err
		}
	}
	if len(st.s.history.rejected) > 0 {
		return st.narrow(asked)
	}
	for _, r := range st.s.history.reports {
		rec, err := st.p.Apply(st.ctx, engine.Event{Op: engine.OpEvidence, TraceID: trace, By: engine.Identity{Name: "pep", Role: "pep"},
			Evidence: engine.Evidence{Name: r.name, Status: r.status}})
		if err := errors.Join(err, invalid(rec)); err != nil {
			return err
		}
	}
	if a := st.s.history.approval; a != nil {
		return st.approve(a)
	}
	return nil
}

func invalid(rec engine.Record) error {
	if rec.Invalid == "" {
		return nil
	}
	return &unsupported{"the set-up was refused: " + rec.Invalid}
}

// narrow puts in force that what the rejected calls were aimed at is out of the
// task's scope.
func (st *stage) narrow(asked call) error {
	for _, r := range st.s.history.rejected {
		st.s.outOfScope(r)
		if err := st.outOfReach(r); err != nil {
			return err
		}
	}
	// What was rejected is rejected. That a person had to be asked about it was for
	// that, and says nothing of the next call.
	for _, t := range st.s.tools {
		if t != nil {
			t["reversibility"], t["blast_radius"] = "reversible", "task"
		}
	}
	b, err := st.s.bundle(asked)
	if err != nil {
		return err
	}
	return st.p.Activate(st.ctx, b, engine.Identity{Name: "operator", Role: "operator"})
}

// outOfReach denies what the facts of a rejected command say that it touches:
// another tool would come to the same.
func (st *stage) outOfReach(r call) error {
	arguments, err := r.arguments()
	if err != nil {
		return err
	}
	for name, raw := range arguments {
		var line string
		if kindOf(name) != "command" || json.Unmarshal(raw, &line) != nil {
			continue
		}
		if !strings.ContainsAny(line, "|;&<>`\"'\\$\n*") {
			st.s.addTo("commands", line)
		}
	}
	doc, err := document(trace, "rejected", r, nil)
	if err != nil {
		return err
	}
	a, err := action.Decode(doc)
	if err != nil {
		return err
	}
	facts, _ := st.p.Bundle().Facts(st.ctx, a, st.now, st.world)
	for _, name := range touched(facts, "write", "delete", "read") {
		if name != st.s.tree.workDir() && name != "/" {
			st.s.addTo("paths", name)
		}
	}
	return nil
}

// given is when an approval was given: a day before the call, or before it
// expired.
func (a *approval) given(now int64) int64 {
	const day = 24 * 60 * 60
	if t, err := time.Parse(time.RFC3339, a.Expires); err == nil {
		now = min(now, t.Unix())
	}
	return now - day
}

// approve has the approved call proposed and approved, used where no use is left,
// and the policy moved where another version is in force by now.
func (st *stage) approve(a *approval) error {
	if a.void() {
		return nil
	}
	if t, err := time.Parse(time.RFC3339, a.Expires); err == nil {
		rec, err := st.p.Apply(st.ctx, engine.Event{Op: engine.OpSettings, By: engine.Identity{Name: "pep", Role: "pep"}, Settings: map[string]any{"review_ttl": float64(t.Unix() - st.now)}})
		if err := errors.Join(err, invalid(rec)); err != nil {
			return err
		}
	}
	who := a.Approver
	if who == "" || who != st.s.history.requester {
		who = reviewer
	}
	if err := st.review(a.call, engine.ReviewEvent{Outcome: engine.Approve}, who); err != nil {
		return err
	}
	if a.Revoked {
		if err := st.sign(st.reviewed, engine.ReviewEvent{Outcome: engine.Revoke}); err != nil {
			return err
		}
	}
	if a.UsesLeft != nil && *a.UsesLeft <= 0 {
		if _, err := st.propose(a.call); err != nil {
			return err
		}
	}
	if st.s.history.moved {
		if err := st.move(); err != nil {
			return err
		}
	}
	if st.s.history.policy != a.PolicyVersion {
		return st.activate()
	}
	return nil
}

// move tells the state that what a call is about is another by now.
func (st *stage) move() error {
	d := st.reviewed
	rec, err := st.p.Apply(st.ctx, engine.Event{Op: engine.OpChange, TraceID: d.TraceID, CallID: d.CallID, Call: d.CallHash, By: engine.Identity{Name: "pep", Role: "pep"},
		Pins: map[string]string{"context": "moved", "input": "moved"}})
	return errors.Join(err, invalid(rec))
}

// activate puts another version of the same policy in force.
func (st *stage) activate() error {
	st.s.scope["policy_version"] = st.s.history.policy
	b, err := st.s.bundle(call{Tool: st.s.history.approval.Tool})
	if err != nil {
		return err
	}
	return st.p.Activate(st.ctx, b, engine.Identity{Name: "operator", Role: "operator"})
}

// reject has a call proposed and rejected by a person, if it came to one: what the
// bundle blocks is refused already.
func (st *stage) reject(c call) error {
	d, err := st.propose(c)
	if err != nil || d.Outcome == engine.Block {
		return err
	}
	return st.answer(d, engine.ReviewEvent{Outcome: engine.Reject, Code: "policy_violation"}, reviewer)
}

// review has a call proposed and answered by a person.
func (st *stage) review(c call, e engine.ReviewEvent, who string) error {
	d, err := st.propose(c)
	if err != nil {
		return err
	}
	return st.answer(d, e, who)
}

// answer is a person's answer to a call that waits for it.
func (st *stage) answer(d engine.Decision, e engine.ReviewEvent, who string) error {
	if d.Request == 0 {
		return &unsupported{"no review was asked for: " + d.Reason}
	}
	if who != reviewer {
		// Whoever asks for the call cannot approve it: there is nobody else's word.
		return nil
	}
	e.Gates = openGates(d)
	st.reviewed = d
	return st.sign(d, e)
}

// sign puts a person's signed answer to a decision into the state.
func (st *stage) sign(d engine.Decision, e engine.ReviewEvent) (err error) {
	event := engine.Event{Op: engine.OpReview, TraceID: d.TraceID, CallID: d.CallID, Call: d.CallHash, By: engine.Identity{Name: reviewer}, Review: e}
	event.Review.Signature, err = reexam.Sign(reviewerKey, reexam.SubjectOf(st.p.Snapshot(), d.TraceID, d.CallHash), event)
	if err != nil {
		return err
	}
	rec, err := st.p.Apply(st.ctx, event)
	return errors.Join(err, invalid(rec))
}

// openGates lists the gates that only an approval which names them lets pass.
func openGates(d engine.Decision) (names []string) {
	for _, g := range d.Gates {
		if !slices.Contains(engine.StandardGates(), g.Name) && (g.Verdict == engine.Fail || g.Verdict == engine.Unknown) {
			names = append(names, g.Name)
		}
	}
	return names
}

// dry decides a call that nothing came before, on the state that the contract
// begins with.
func (st *stage) dry(b *bundle.Bundle, c call) (engine.Decision, error) {
	a, err := st.action(c)
	if err != nil {
		return engine.Decision{}, err
	}
	facts, unknown := b.Facts(st.ctx, a, st.now, st.world)
	return engine.Decide(st.ctx, b, engine.Input{Action: a, Facts: facts, FactsUnknown: unknown, State: b.Start(), Now: st.now}), nil
}

// propose decides a call as the case's agent.
func (st *stage) propose(c call) (engine.Decision, error) {
	a, err := st.action(c)
	if err != nil {
		return engine.Decision{}, err
	}
	return st.p.Decide(st.ctx, a)
}

// action is a call as the case's agent proposes it.
func (st *stage) action(c call) (engine.Action, error) {
	st.calls++
	id := fmt.Sprintf("call-%d", st.calls)
	more := map[string]any{"agent": map[string]any{"id": "case-agent", "component": "case-planner@1"}}
	if who := st.s.history.requester; who != "" {
		more["agent"] = map[string]any{"id": who, "component": "case-planner@1"}
	}
	if st.s.origins != nil {
		more["origins"] = st.s.origins
	}
	if st.s.plan != nil {
		more["plan"] = st.s.steps()
		more["critic"] = map[string]any{"score": json.RawMessage("0.99"), "component": "case-critic@1"}
	}
	doc, err := document(trace, id, c, more)
	if err != nil {
		return engine.Action{}, err
	}
	return action.Decode(doc)
}
