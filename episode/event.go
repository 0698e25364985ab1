package episode

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/engine"
)

// script is who an event without `by` comes from.
var script = engine.Identity{Name: "script", Role: "operator"}

// event is one event of a file; the path it is about is found when it is its
// turn, since a call id may be proposed in between.
type event struct {
	engine.Event
	pointer string
}

// ReadEvent reads one event in the form that episodes and the journal share.
// Who an event without `by` comes from is the trusted script. The path of the
// event is not resolved yet.
func ReadEvent(v any, c *engine.Contract) (engine.Event, error) {
	e, err := readEvent(v, "", c)
	return e.Event, err
}

// Resolve finds the path that an event is about: that of the call it names, or
// of the contract's default action.
func Resolve(e *engine.Event, v engine.View, c *engine.Contract) error {
	if e.Op == engine.OpAttempt && c.DefaultAction == nil {
		return nil // it names its own path
	}
	x := event{Event: *e}
	err := x.resolve(v, c)
	*e = x.Event
	return err
}

// object reads the fields of one JSON object and keeps the first error.
type object struct {
	fields  map[string]any
	pointer string
	used    map[string]bool
	err     error
}

func newObject(v any, pointer string) *object {
	o := &object{pointer: pointer, used: map[string]bool{}}
	fields, ok := v.(map[string]any)
	if !ok {
		o.fail("", "an object is wanted", "")
	}
	o.fields = fields
	return o
}

func (o *object) fail(field, msg, hint string) {
	if o.err == nil {
		pointer := o.pointer
		if field != "" {
			pointer += engine.Pointer(field)
		}
		o.err = &action.Error{Pointer: pointer, Msg: msg, Hint: hint}
	}
}

// get returns a field and marks it as known.
func (o *object) get(field string) (any, bool) {
	o.used[field] = true
	v, ok := o.fields[field]
	return v, ok
}

func (o *object) require(field string) {
	if _, ok := o.get(field); !ok {
		o.fail("", fmt.Sprintf("%q is missing", field), "")
	}
}

func (o *object) text(field string) string {
	v, ok := o.get(field)
	if !ok {
		return ""
	}
	s, isText := v.(string)
	if !isText {
		o.fail(field, "text is wanted", "put it in double quotes")
	}
	return s
}

// id reads an identifier, which is bound as in an action.
func (o *object) id(field string) string {
	s := o.text(field)
	if len(s) > action.MaxID || strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r > 0x7e }) {
		o.fail(field, "an id is at most 256 printable ASCII characters", "")
	}
	return s
}

func (o *object) boolean(field string, missing bool) bool {
	v, ok := o.get(field)
	if !ok {
		return missing
	}
	b, isBool := v.(bool)
	if !isBool {
		o.fail(field, "true or false is wanted", "")
	}
	return b
}

func (o *object) texts(field string) (out []string) {
	v, ok := o.get(field)
	if !ok {
		return nil
	}
	list, isList := v.([]any)
	if !isList {
		o.fail(field, "a list is wanted", "")
	}
	for _, item := range list {
		s, isText := item.(string)
		if !isText {
			o.fail(field, "a list of texts is wanted", "")
		}
		out = append(out, s)
	}
	return out
}

// enum reads a text of an enumeration.
func (o *object) enum(field string, into interface{ UnmarshalText([]byte) error }) {
	if _, given := o.fields[field]; !given {
		return
	}
	if s := o.text(field); o.err == nil {
		if err := into.UnmarshalText([]byte(s)); err != nil {
			o.fail(field, err.Error(), "")
		}
	}
}

// at reads a time: whole seconds (ticks), or RFC 3339.
func (o *object) at(field string) int64 {
	v, _ := o.get(field)
	switch v := v.(type) {
	case float64:
		if v == math.Trunc(v) && v >= 0 && v < 1<<53 {
			return int64(v)
		}
	case string:
		if t, err := time.Parse(time.RFC3339, v); err == nil && t.Nanosecond() == 0 && t.Unix() >= 0 {
			return t.Unix()
		}
	}
	o.fail(field, "a time is wanted: whole seconds, or RFC 3339 with a zone", "")
	return 0
}

// rest returns the fields that nothing has read, which must be among known.
func (o *object) rest(known []string) map[string]any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(o.fields)) {
		if o.used[name] {
			continue
		}
		if !slices.Contains(known, name) {
			o.fail(name, fmt.Sprintf("unknown field %q", name), engine.DidYouMean(name, append(slices.Sorted(maps.Keys(o.used)), known...)))
		}
		out[name] = o.fields[name]
	}
	return out
}

// readEvent reads one event. Fields that are no field of its operation are an
// error, and so are pins and settings that the contract does not name.
func readEvent(v any, pointer string, c *engine.Contract) (event, error) {
	o := newObject(v, pointer)
	e := event{pointer: pointer}
	o.require("op")
	o.require("t")
	if o.err != nil {
		return e, o.err
	}
	o.enum("op", &e.Op)
	e.Time = o.at("t")
	e.TraceID = o.id("trace_id")
	e.By = identity(o, "by")
	e.CallID = o.id("call")
	read := map[engine.Op]func(*object, *event, *engine.Contract){
		engine.OpChange: readChange, engine.OpSettings: readSettings, engine.OpEvidence: readEvidence, engine.OpFailure: readFailure,
		engine.OpEngage: readEngage, engine.OpAttempt: readAttempt, engine.OpReview: readReview, engine.OpResult: readResult,
		engine.OpClear: readAnswer, engine.OpConfirm: readAnswer, engine.OpCompensate: readAnswer, engine.OpAcknowledge: readAnswer,
	}[e.Op]
	if o.err != nil {
		return e, o.err
	}
	if read == nil {
		o.fail("op", fmt.Sprintf("an episode has no op %q", e.Op), engine.DidYouMean(e.Op.String(), engine.Ops()))
		return e, o.err
	}
	o.withoutEffect(&e, c)
	read(o, &e, c)
	o.rest(nil)
	return e, o.err
}

// withoutEffect reports fields that would change nothing of the event, and a
// trace that is missing.
func (o *object) withoutEffect(e *event, c *engine.Contract) {
	ofTrace := e.Op == engine.OpAttempt || e.Op == engine.OpSettings || e.Op == engine.OpEngage
	switch {
	case ofTrace && e.CallID != "" && e.Op != engine.OpAttempt:
		o.fail("call", fmt.Sprintf("%s is about a trace, not about a call", e.Op), "")
	case e.Op == engine.OpAttempt && e.CallID != "":
		o.fail("call", "an attempt names its call in its action", "")
	case e.Op != engine.OpAttempt && e.Op != engine.OpSettings && e.TraceID == "" && c.DefaultAction == nil:
		o.fail("", "the event names no trace", "the contract of this bundle has no default_action")
	}
	if by, given := o.fields["by"]; given && by == "" {
		o.fail("by", "somebody is wanted", "leave by out for the trusted script")
	}
}

// identity reads who did something, from the field that names it.
func identity(o *object, field string) engine.Identity {
	name, role, qualified := o.text(field), o.text("role"), o.boolean("qualified", false)
	if name == "" {
		id := script
		if role != "" {
			id.Role = role
		}
		id.Qualified = qualified
		return id
	}
	return engine.Identity{Name: name, Role: role, Qualified: qualified}
}

func readChange(o *object, e *event, c *engine.Contract) {
	e.Pins = map[string]string{}
	pins := o.rest(slices.Concat(c.TracePins, c.PathPins))
	for _, name := range slices.Sorted(maps.Keys(pins)) {
		v := pins[name]
		s, ok := v.(string)
		if !ok {
			o.fail(name, "a pin is text", "")
		}
		e.Pins[name] = s
		o.used[name] = true
	}
}

// readSettings reads settings of the kind that the contract starts with.
func readSettings(o *object, e *event, c *engine.Contract) {
	e.Settings = map[string]any{}
	settings := o.rest(slices.Sorted(maps.Keys(c.Start.Settings)))
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		v := settings[name]
		switch v.(type) {
		case nil, bool, float64, string:
		default:
			o.fail(name, "a setting is text, a number, true, false or null", "")
		}
		if first := c.Start.Settings[name]; first != nil && v != nil && fmt.Sprintf("%T", first) != fmt.Sprintf("%T", v) {
			o.fail(name, fmt.Sprintf("a value like %v is wanted", first), "")
		}
		e.Settings[name] = v
		o.used[name] = true
	}
}

func readEvidence(o *object, e *event, c *engine.Contract) {
	o.require("name")
	o.require("status")
	e.Evidence.Name, e.Evidence.Source = o.text("name"), o.text("source")
	known := slices.Sorted(maps.Keys(c.Evidence))
	known = append(known, slices.Sorted(maps.Keys(c.Context))...)
	if o.err == nil && !slices.Contains(known, e.Evidence.Name) {
		o.fail("name", fmt.Sprintf("the contract has no evidence %q", e.Evidence.Name), engine.DidYouMean(e.Evidence.Name, known))
	}
	o.enum("status", &e.Evidence.Status)
	if e.Evidence.Status == engine.NotApplicable {
		o.fail("status", "evidence is pass, fail or unknown", "")
	}
	if v, ok := o.get("expires"); ok && v != nil {
		at := o.at("expires")
		e.Evidence.Expires = &at
	}
	if v, ok := o.get("pins"); ok {
		pins := newObject(v, o.pointer+"/pins")
		e.Evidence.Pins = map[string]string{}
		for _, name := range slices.Sorted(maps.Keys(pins.rest(slices.Concat(c.TracePins, c.PathPins)))) {
			e.Evidence.Pins[name] = pins.text(name)
		}
		if pins.err != nil && o.err == nil {
			o.err = pins.err
		}
	}
}

func readFailure(o *object, e *event, _ *engine.Contract) {
	o.require("active")
	e.Failure = engine.FailureEvent{Active: o.boolean("active", true), Recoverable: o.boolean("recoverable", true)}
}

func readEngage(o *object, e *event, _ *engine.Contract) {
	o.require("component")
	e.Engage = engine.Engagement{Component: o.text("component"), Task: o.text("task")}
}

// readAttempt reads the proposed action; without one it is the contract's.
func readAttempt(o *object, e *event, c *engine.Contract) {
	v, given := o.get("action")
	if facts, ok := o.get("facts"); ok {
		var isObject bool
		if e.Attempt.Facts, isObject = facts.(map[string]any); !isObject {
			o.fail("facts", "an object is wanted", "")
		}
	}
	e.Attempt.FactsText, e.Attempt.FactsHash = o.hashed(e.Attempt.Facts)
	switch {
	case given:
		e.Attempt.Action = o.action(v)
	case c.DefaultAction != nil:
		e.Attempt.Action = *c.DefaultAction
	default:
		o.fail("", "the attempt has no action", "the contract of this bundle has no default_action")
	}
	if e.TraceID != "" && e.TraceID != e.Attempt.Action.TraceID {
		o.fail("trace_id", "the action is of another trace", "")
	}
}

// hashed is the text of facts, and the digest that approvals are pinned to.
func (o *object) hashed(facts map[string]any) ([]byte, string) {
	text, err := FactsText(facts, nil)
	if err != nil {
		o.fail("facts", err.Error(), "")
	}
	return text, action.Hash(text)
}

func (o *object) action(v any) engine.Action {
	text, err := action.CanonicalValue(v)
	if err != nil {
		o.fail("action", err.Error(), "")
		return engine.Action{}
	}
	a, err := action.Decode(text)
	if bad, ok := err.(*action.Error); ok && o.err == nil {
		o.err = &action.Error{Pointer: o.pointer + "/action" + bad.Pointer, Msg: bad.Msg, Hint: bad.Hint}
	}
	return a
}

func readReview(o *object, e *event, _ *engine.Contract) {
	o.require("outcome")
	o.enum("outcome", &e.Review.Outcome)
	if e.Review.Outcome == engine.NoReview {
		o.fail("outcome", "a review approves, rejects, returns or revokes", "")
	}
	o.reviewer(e)
	e.Review.Code, e.Review.Note, e.Review.Gates = o.rejectionCode("code"), o.text("note"), o.texts("gates")
	e.Review.Signed, e.Review.Signature = o.boolean("signed", false), o.text("signature")
}

// reviewer reads who judges, who may be named in either of two fields.
func (o *object) reviewer(e *event) {
	if _, ok := o.get("reviewer"); ok {
		if e.By = identity(o, "reviewer"); e.By.Name == script.Name {
			o.fail("reviewer", "a reviewer needs a name", "")
		}
	}
}

// readAnswer reads a reviewer's answer to suspicion or to a pull-back.
func readAnswer(o *object, e *event, _ *engine.Contract) {
	o.reviewer(e)
	a := &e.Answer
	a.Note, a.Signed, a.Signature = o.text("note"), o.boolean("signed", false), o.text("signature")
	switch e.Op {
	case engine.OpClear:
		a.Item = o.item(e.CallID == "")
	case engine.OpCompensate:
		o.require("with")
		if a.With = o.id("with"); a.With == "" {
			o.fail("with", "the call id of what compensates is wanted", "")
		}
	}
}

// item reads an item, which may be left out where it need not be there.
func (o *object) item(needed bool) (out engine.Item) {
	if _, given := o.fields["item"]; !given && !needed {
		return out
	}
	o.require("item")
	v, _ := o.get("item")
	item := newObject(v, o.pointer+"/item")
	item.require("value")
	out = engine.Item{Kind: item.text("kind"), Value: action.Value(item.text("value"))}
	item.rest(nil)
	if item.err == nil && out.Value == "" {
		item.fail("value", "the value of an item is wanted", "")
	}
	if item.err != nil && o.err == nil {
		o.err = item.err
	}
	return out
}

// Bounds of what a result may say that it found.
const (
	maxProduced = 1000
	maxEntity   = 1024 // bytes
)

// readResult reads a result. A later report that the call was wrong needs no
// status.
func readResult(o *object, e *event, _ *engine.Contract) {
	r := &e.Result
	if r.Incident = o.rejectionCode("incident"); r.Incident == "" {
		o.require("status")
	}
	if o.enum("status", &r.Status); r.Status == engine.NoResult && o.fields["status"] != nil {
		o.fail("status", "a result is ok, error or not_run", "")
	}
	r.Recoverable = o.boolean("recoverable", true)
	r.Latency, r.Overhead, r.Cost = o.amount("latency"), o.amount("overhead"), o.amount("cost")
	r.Produced = o.texts("produced")
	if len(r.Produced) > maxProduced {
		o.fail("produced", fmt.Sprintf("a result names at most %d entities", maxProduced), "name those that later calls may take from it")
	}
	for _, entity := range r.Produced {
		if strings.TrimSpace(entity) == "" || len(entity) > maxEntity {
			o.fail("produced", fmt.Sprintf("an entity is 1 to %d bytes of text", maxEntity), "name the entity, not the text it stands in")
		}
		if value := action.Value(entity); value != "" && !slices.Contains(r.Values, value) {
			r.Values = append(r.Values, value)
		}
	}
}

// amount reads a number that is not negative; nil where it is left out.
func (o *object) amount(field string) *float64 {
	v, given := o.get(field)
	if !given {
		return nil
	}
	n, ok := v.(float64)
	if !ok || !(n >= 0) || math.IsInf(n, 0) {
		o.fail(field, "a number of at least 0 is wanted", "")
	}
	return &n
}

func (o *object) rejectionCode(field string) string {
	code, codes := o.text(field), engine.RejectionCodes()
	if code != "" && !slices.Contains(codes, code) {
		o.fail(field, fmt.Sprintf("no rejection code %q: one of %s", code, strings.Join(codes, ", ")), engine.DidYouMean(code, codes))
	}
	return code
}
