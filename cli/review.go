package cli

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/reexam"
)

func reviewCommand(env *Env) *cli.Command {
	answer := func(name, usage string, o engine.ReviewOutcome, more ...cli.Flag) *cli.Command {
		flags := append([]cli.Flag{stateFlag(), &cli.StringFlag{Name: "key", Usage: "sign with the key in `FILE`, made by `review keygen`"},
			&cli.StringFlag{Name: "note", Usage: "a `TEXT` for the record"}, formatFlag("pretty", "json")}, more...)
		return &cli.Command{Name: name, Usage: usage, ArgsUsage: "TRACE/CALL", Flags: flags,
			Action: func(c *cli.Context) error { return review(c, env, o) }}
	}
	return &cli.Command{
		Name:  "review",
		Usage: "the human queue: see what waits, and decide it",
		Description: `A reviewer is known by a key that the bundle's reviewer list holds (--key), or,
where the list gives no key, by the name of the operating system's user. No flag
names a reviewer. The list is conjunct/authority/data.yaml of the bundle:

   reviewers:
     pat: {role: reviewer}
     lee: {role: reviewer, key: "what review keygen printed"}

An approval lets the agent propose the call once more and run it:

   conjunct review approve --state DIR TRACE/CALL
   conjunct decide --state DIR ACTION.json

Exit code of an answer: 0 it counts, 3 it does not (nobody waits for it, or the
reviewer may not), 4 it is an approval after which the call stays held: it does not
name a gate that has to be named, or what it is pinned to has moved since the call
was proposed (the bundle, say).`,
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list what waits, what is suspect, and what somebody has to be told of",
				Flags: []cli.Flag{stateFlag(), formatFlag("pretty", "json"),
					&cli.BoolFlag{Name: "suspect", Usage: "list the suspect items and the flagged reads instead"},
					&cli.BoolFlag{Name: "notify", Usage: "list the calls that ran at tier execute_notify instead"}},
				Action: func(c *cli.Context) error { return reviewList(c, env) }},
			{Name: "show", Usage: "show why a call waits, and exactly what was hashed", ArgsUsage: "TRACE/CALL", Flags: []cli.Flag{stateFlag(), formatFlag("pretty", "json")},
				Action: func(c *cli.Context) error { return reviewShow(c, env) }},
			answer("approve", "let the call run once", engine.Approve,
				&cli.StringSliceFlag{Name: "gate", Usage: "also let this `GATE` pass: an own one, STRUCTURE or CRITIC; may be given more than once"}),
			answer("reject", "bind the call: it is rejected under whatever id it comes back", engine.Reject,
				&cli.StringFlag{Name: "code", Usage: "why: `CODE` is one of " + strings.Join(engine.RejectionCodes(), ", ")}),
			answer("return", "close the request without an answer", engine.Return),
			answer("revoke", "take an approval, a request or a rejection back", engine.Revoke),
			reply(env, engine.OpConfirm, "say of a pulled-back call that ran: it was right"),
			reply(env, engine.OpCompensate, "say of a pulled-back call that ran: another call makes up for it",
				&cli.StringFlag{Name: "with", Usage: "the `CALL` id, in the same trace, of what makes up for it; it is a call of its own and gated"}),
			reply(env, engine.OpAcknowledge, "say of a pulled-back call that ran: it is known, and nothing is done"),
			reply(env, engine.OpClear, "end the suspicion of what a rejected or pulled-back call was built on",
				&cli.StringFlag{Name: "item", Usage: "clear this `VALUE` only"}),
			{Name: "keygen", Usage: "make a reviewer's key and print its public half", ArgsUsage: "FILE",
				Action: func(c *cli.Context) error { return keygen(c, env) }},
		},
	}
}

// waitingReview is one request in the queue.
type waitingReview struct {
	Call    string   `json:"call"`
	Tool    string   `json:"tool"`
	Request uint64   `json:"request"`
	Since   string   `json:"since"`
	Expires string   `json:"expires,omitempty"`
	Gates   []string `json:"gates"`
	Votes   []string `json:"votes"`
	Of      int      `json:"of"`
	// PulledBack is there for a call that was pulled back.
	PulledBack *pulledBack `json:"pulled_back,omitempty"`
}

// pulledBack says why a call was pulled back.
type pulledBack struct {
	Ran       bool          `json:"ran"`
	Rejection uint64        `json:"rejection"`
	Code      string        `json:"code"`
	By        string        `json:"by"`
	Items     []engine.Item `json:"items"`
}

// waiting lists the current requests.
func waiting(v engine.View, c *engine.Contract, now int64) []waitingReview {
	out := []waitingReview{}
	// The clock of a state never goes below its last entry.
	for _, q := range reexam.Queue(v, c, max(now, v.Clock())) {
		w := waitingReview{Call: q.TraceID + "/" + q.CallID, Tool: q.Tool, Request: q.Request, Since: rfc3339(q.Since),
			Gates: append([]string{}, q.Gates...), Votes: append([]string{}, q.Votes...), Of: q.Required}
		if q.Expires != nil {
			w.Expires = rfc3339(*q.Expires)
		}
		if p := q.PulledBack; p != nil {
			w.PulledBack = &pulledBack{p.Ran, p.Rejection, p.Code, p.By, p.Items}
		}
		out = append(out, w)
	}
	return out
}

func reviewList(c *cli.Context, env *Env) error {
	if err := noArguments(c); err != nil {
		return err
	}
	if err := needsState(c); err != nil {
		return err
	}
	switch {
	case c.Bool("notify") && c.Bool("suspect"):
		return usagef("ask for one list at a time", "--suspect and --notify list different things")
	case c.Bool("notify"):
		return listNotifications(c, env)
	}
	fold, err := readState(c.Context, c.String("state"))
	if err != nil {
		return err
	}
	items, reads := suspectsOf(fold)
	if c.Bool("suspect") {
		return listSuspects(c, env, items, reads)
	}
	list := waiting(fold.Store.Snapshot(), fold.Bundle().Contract(), env.Now().Unix())
	if c.String("format") == "json" {
		return newEncoder(env.Stdout).Encode(list)
	}
	p := &painter{w: env.Stdout}
	for _, w := range list {
		p.waiting(&w)
	}
	if len(list) == 0 {
		p.printf("nothing waits\n")
	}
	p.suspects(items, reads)
	return p.err
}

func (p *painter) waiting(w *waitingReview) {
	p.printf("%-40s %-24s since %s  request %d, ", visible(w.Call), visible(w.Tool), w.Since, w.Request)
	switch back := w.PulledBack; {
	case back != nil && back.Ran:
		p.printf("pulled back after it ran (entry %d, %s): confirm, compensate or acknowledge it", back.Rejection, back.Code)
	case back != nil:
		p.printf("pulled back (entry %d, %s), %d of %d approvals", back.Rejection, back.Code, len(w.Votes), w.Of)
	default:
		p.printf("%d of %d approvals", len(w.Votes), w.Of)
	}
	if len(w.Gates) > 0 && (w.PulledBack == nil || !w.PulledBack.Ran) {
		p.printf("; gates to name: %s", strings.Join(w.Gates, ", "))
	}
	p.printf("\n")
}

// reviewShow prints the action as it was hashed, with everything invisible made
// visible, and its hashes.
func reviewShow(c *cli.Context, env *Env) error {
	name, err := oneArgument(c, "TRACE/CALL")
	if err != nil {
		return err
	}
	if err := needsState(c); err != nil {
		return err
	}
	fold, err := readState(c.Context, c.String("state"))
	if err != nil {
		return err
	}
	v := fold.Store.Snapshot()
	trace, call, err := findCall(v, name)
	if err != nil {
		return err
	}
	hash, _ := v.CallHash(trace, call)
	path := v.Path(trace, hash)
	shown := shownCall{Call: name, TraceID: trace, CallID: call, Tool: path.Tool, CallHash: hash, Redacted: path.Redacted, Entry: lastEntry(path), Action: path.Canonical}
	if r := path.Request; r != nil {
		shown.Request = &shownRequest{r.Seq, r.Status, r.Saw.Facts, r.Saw.Bundle}
	}
	shown.Decision, err = reexam.Again(c.Context, fold.Bundle(), v, path, max(env.Now().Unix(), v.Clock()))
	if err != nil && !errors.Is(err, reexam.ErrRedacted) {
		return err
	}
	if c.String("format") == "json" {
		return newEncoder(env.Stdout).Encode(&shown)
	}
	return (&painter{w: env.Stdout, color: env.Color}).call(&shown)
}

// shownCall is a call as a reviewer sees it.
type shownCall struct {
	Call     string        `json:"call"`
	TraceID  string        `json:"trace_id"`
	CallID   string        `json:"call_id"`
	Tool     string        `json:"tool"`
	CallHash string        `json:"call_hash"`
	Request  *shownRequest `json:"request"` // null: nobody was asked
	Redacted bool          `json:"redacted"`
	// Entry is the one that asked for a review last, or else the call's first.
	Entry  uint64          `json:"entry"`
	Action json.RawMessage `json:"action"` // as it was hashed, or with HMACs for what is redacted
	// Decision is what the policy says of the call now; null where it is redacted.
	Decision *engine.Decision `json:"decision"`
}

type shownRequest struct {
	Seq    uint64               `json:"seq"`
	Status engine.RequestStatus `json:"status"`
	Facts  string               `json:"facts"`
	Bundle string               `json:"bundle"`
}

// call prints a call, with everything invisible in its action made visible.
func (p *painter) call(s *shownCall) error {
	if s.Decision == nil {
		p.printf("%s holds arguments that are redacted, so what the policy says of it is not shown anew: entry %d holds what was decided\n", visible(s.Call), s.Entry)
	} else {
		p.decision(s.Decision)
	}
	p.printf("\n")
	p.field("call", visible(s.Call))
	p.field("call hash", s.CallHash)
	if r := s.Request; r != nil {
		p.field("request", fmt.Sprintf("%d, %s", r.Seq, r.Status))
		p.field("facts", r.Facts)
		p.field("bundle", r.Bundle)
	}
	var doc any
	if err := json.Unmarshal(s.Action, &doc); err != nil {
		return err
	}
	var text strings.Builder
	enc := newEncoder(&text)
	enc.SetIndent("  ", "  ")
	if err := enc.Encode(doc); err != nil {
		return err
	}
	for _, line := range strings.Split(strings.TrimRight(text.String(), "\n"), "\n") {
		p.printf("  %s\n", visible(strings.TrimPrefix(line, "  ")))
	}
	return p.err
}

// lastEntry is the entry that asked for a review of a call last, or else the one
// that proposed it first.
func lastEntry(path engine.Path) uint64 {
	if path.Request != nil {
		return path.Request.Seq
	}
	return path.First
}

// findCall splits TRACE/CALL where both parts are known: ids may hold slashes.
func findCall(v engine.View, name string) (trace, call string, err error) {
	for i := range name {
		if name[i] != '/' {
			continue
		}
		if _, ok := v.CallHash(name[:i], name[i+1:]); ok {
			return name[:i], name[i+1:], nil
		}
	}
	return "", "", usagef("`conjunct review list` shows what waits", "no call %q was proposed here; write it as TRACE/CALL", name)
}

func review(c *cli.Context, env *Env, o engine.ReviewOutcome) error {
	name, err := oneArgument(c, "TRACE/CALL")
	if err != nil {
		return err
	}
	r := engine.ReviewEvent{Outcome: o, Note: c.String("note"), Gates: c.StringSlice("gate"), Code: c.String("code")}
	if o == engine.Reject && !slices.Contains(engine.RejectionCodes(), r.Code) {
		return usagef("", "--code must be one of %s", strings.Join(engine.RejectionCodes(), ", "))
	}
	return withState(c, env, func(p *pdp.PDP) error {
		v := p.Snapshot()
		trace, call, err := findCall(v, name)
		if err != nil {
			return err
		}
		hash, _ := v.CallHash(trace, call)
		path := v.Path(trace, hash)
		e := engine.Event{Op: engine.OpReview, TraceID: trace, CallID: call, By: engine.Identity{Name: systemUser()}, Review: r}
		if err := knownGates(p.Bundle(), path.Tool, r.Gates); err != nil {
			return err
		}
		if o == engine.Revoke && !revocable(v, p.Bundle().Contract(), path, hash) {
			return usagef("`conjunct review list` shows what waits", "%s has no approval, request or rejection to revoke", name)
		}
		if c.IsSet("key") {
			if err := sign(&e, p.Bundle(), v, hash, c.String("key")); err != nil {
				return err
			}
		}
		rec, err := p.Apply(c.Context, e)
		if err := applied(rec, err); err != nil {
			return err
		}
		outcome := rec.ReviewOutcome.String()
		switch {
		case o == engine.Revoke:
			outcome = "revoked"
		case rec.ReviewOutcome == engine.Pending:
			outcome = fmt.Sprintf("%d of %d approvals,", len(path.Request.Votes)+1, path.Request.Required)
		}
		a := given{Call: name, Outcome: rec.ReviewOutcome.String(), By: e.By.Name, Signed: e.Review.Signature != "", Seq: rec.Seq}
		if o == engine.Revoke {
			a.Outcome = "revoked"
		}
		if err := printGiven(c, env, &a, outcome); err != nil || o != engine.Approve {
			return err
		}
		if why, err := voided(c.Context, env, p, trace, hash); why != "" || err != nil {
			return errors.Join(err, stillHeld(env, why))
		}
		return opened(env, path.Request, r.Gates)
	})
}

// given is an answer that took effect.
type given struct {
	Call    string       `json:"call"`
	Outcome string       `json:"outcome"`
	Item    *engine.Item `json:"item,omitempty"` // what was cleared
	By      string       `json:"by"`
	Signed  bool         `json:"signed"`
	Seq     uint64       `json:"seq"`
}

func printGiven(c *cli.Context, env *Env, a *given, outcome string) error {
	if c.String("format") == "json" {
		return newEncoder(env.Stdout).Encode(a)
	}
	signed := "unsigned"
	if a.Signed {
		signed = "signed"
	}
	_, err := fmt.Fprintf(env.Stdout, "%s: %s by %s (%s), entry %d\n", visible(a.Call), outcome, visible(a.By), signed, a.Seq)
	return err
}

// revocable reports whether a revocation would take anything back. Of a call that
// was approved and ran it takes back that what the call names is known.
func revocable(v engine.View, c *engine.Contract, path engine.Path, hash string) bool {
	_, rejected := v.Rejection(cmp.Or(path.Same, hash))
	pending := path.Request != nil && path.Request.Status == engine.Pending
	return rejected || pending || path.Approval != nil || c.Critic != nil && path.Ran > 0
}

// knownGates refuses a gate that the call does not meet.
func knownGates(b *bundle.Bundle, tool string, named []string) error {
	var own []string
	for _, g := range b.Gates(tool) {
		own = append(own, g.Name)
	}
	if b.Contract().UnderCritic(tool) {
		own = append(own, engine.Structure, engine.CriticGate)
	}
	for _, name := range named {
		if !slices.Contains(own, name) {
			return usagef(engine.DidYouMean(name, own), "%s meets no gate %q that an approval could let pass", tool, name)
		}
	}
	return nil
}

// voided says why an approval that was just given does not stand: the call was
// asked about before something moved that approvals are pinned to.
func voided(ctx context.Context, env *Env, p *pdp.PDP, trace, hash string) (string, error) {
	v := p.Snapshot()
	path := v.Path(trace, hash)
	if path.Approval == nil || path.Redacted {
		return "", nil
	}
	d, err := reexam.Again(ctx, p.Bundle(), v, path, max(env.Now().Unix(), v.Clock()))
	if err != nil {
		return "", err
	}
	var why []string
	for _, r := range d.Gate(engine.Bounds).Reasons {
		if strings.HasPrefix(r.Code, "approval_") {
			why = append(why, r.Text)
		}
	}
	return strings.Join(why, ", "), nil
}

func stillHeld(env *Env, why string) error {
	fmt.Fprintf(env.Stderr, "conjunct: the call stays held: %s\n", visible(why))
	fmt.Fprintln(env.Stderr, "hint: once the agent has proposed the call again approve it again")
	return exitError(exitHeld)
}

// opened says what comes after an approval of a request, which named gates. One
// that leaves a gate open that it had to name counts, and the call stays held.
func opened(env *Env, r *engine.Request, named []string) error {
	left := r.Required - len(r.Votes) - 1
	open := slices.DeleteFunc(slices.Clone(r.Gates), func(gate string) bool {
		return slices.Contains(named, gate) && !slices.ContainsFunc(r.Votes, func(v engine.Vote) bool { return !slices.Contains(v.Gates, gate) })
	})
	switch {
	case len(open) > 0:
		why, first := "the approval does not name it", ""
		if len(r.Votes) > 0 {
			why = "not every approval names it"
		}
		if left > 0 {
			first = "revoke it, and "
		}
		fmt.Fprintf(env.Stderr, "conjunct: the call stays held while %s does not pass: %s\n", strings.Join(open, ", "), why)
		fmt.Fprintf(env.Stderr, "hint: %sonce the agent has proposed the call again approve it with --gate %s\n", first, strings.Join(open, " --gate "))
		return exitError(exitHeld)
	case left > 0:
		fmt.Fprintf(env.Stderr, "next: %d more of the reviewers approve\n", left)
	default:
		fmt.Fprintln(env.Stderr, "next: the agent proposes the call again")
	}
	return nil
}

// keyFile is a reviewer's key on disk.
type keyFile struct {
	PrivateKey string `json:"private_key"`
	PublicKey  string `json:"public_key"`
}

func keygen(c *cli.Context, env *Env) error {
	name, err := oneArgument(c, "FILE")
	if err != nil {
		return err
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	k := keyFile{PrivateKey: base64.StdEncoding.EncodeToString(private.Seed()), PublicKey: base64.StdEncoding.EncodeToString(public)}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return usagef("choose another file", "%s exists already", name)
	}
	if err != nil {
		return err
	}
	if err := errors.Join(json.NewEncoder(f).Encode(k), f.Close()); err != nil {
		return errors.Join(err, os.Remove(name)) // a part of a key is none, and keeps the name taken
	}
	fmt.Fprintln(env.Stdout, k.PublicKey)
	fmt.Fprintln(env.Stderr, "next: give the printed key to a reviewer in conjunct/authority/data.yaml: reviewers: {NAME: {role: ROLE, key: KEY}}")
	return nil
}

// readKey reads what keygen wrote.
func readKey(file string) (ed25519.PrivateKey, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, usagef("", "%v", err)
	}
	var k keyFile
	seed := []byte(nil)
	if err := json.Unmarshal(text, &k); err == nil {
		seed, _ = base64.StdEncoding.DecodeString(k.PrivateKey)
	}
	if len(seed) != ed25519.SeedSize {
		return nil, usagef("make one with `conjunct review keygen FILE`", "%s holds no reviewer's key", file)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// notListed is the error of a key that nobody on the reviewer list holds.
func notListed(file string) error {
	return usagef("put its public half into conjunct/authority/data.yaml and activate the bundle", "no reviewer of the bundle in force has the key in %s", file)
}

// sign finds the reviewer that the key belongs to and signs the review.
func sign(e *engine.Event, b *bundle.Bundle, v engine.View, call, file string) error {
	private, err := readKey(file)
	if err != nil {
		return err
	}
	name, ok := b.ReviewerWith(private.Public().(ed25519.PublicKey))
	if !ok {
		return notListed(file)
	}
	e.By.Name = name
	signature, err := reexam.Sign(private, reexam.SubjectOf(v, e.TraceID, call), *e)
	if e.Op == engine.OpReview {
		e.Review.Signature = signature
	} else {
		e.Answer.Signature = signature
	}
	return err
}
