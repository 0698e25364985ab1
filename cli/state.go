package cli

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"math"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/reexam"
)

func stateCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:  "state",
		Usage: "make, show or change a state directory",
		Subcommands: []*cli.Command{
			{Name: "init", Usage: "make a state directory with a bundle in force", ArgsUsage: "DIR", Flags: []cli.Flag{bundleFlag(orDefault)},
				Description: `Writes DIR/journal.jsonl, which holds every decision from then on, and the bundle in
force into DIR/bundles. DIR is new or empty. Prints the bundle's digest.`,
				Action: func(c *cli.Context) error { return stateInit(c, env) }},
			{Name: "show", Usage: "show the bundle in force, the head and what waits", ArgsUsage: "DIR", Flags: []cli.Flag{formatFlag("pretty", "json")},
				Action: func(c *cli.Context) error { return stateShow(c, env) }},
			{Name: "activate", Usage: "put another bundle in force, if the acting one lets you", ArgsUsage: "DIR", Flags: []cli.Flag{bundleFlag("It has to be named")},
				Description: `Asks the authority rule of the bundle in force, as the operating system's user in the
role operator, and journals the answer. What was approved or asked under the bundle
before is void where the contract binds approvals to it: the agent proposes the call
again. A bundle that does not load changes nothing, and that is journalled.

Exit code: 0 it is in force, 3 the acting bundle does not let you, 2 it does not load.`,
				Action: func(c *cli.Context) error { return stateActivate(c, env) }},
			{Name: "checkpoint", Usage: "store the state, so that the next start need not decide everything again", ArgsUsage: "DIR",
				Flags: []cli.Flag{&cli.StringFlag{Name: "key", Usage: "sign with the key in `FILE`, made by `review keygen`"}},
				Description: `Writes DIR/checkpoints/N.jsonl and journals its digest. Opening the directory
verifies the chain of the whole journal still, and decides again what stands
behind the last checkpoint. A stored state that its entry does not name is not
used. ` + "`conjunct replay`" + ` decides everything again, and holds each checkpoint to
the state that it gives.`,
				Action: func(c *cli.Context) error { return stateCheckpoint(c, env) }},
		},
	}
}

func stateFlag() cli.Flag {
	return &cli.StringFlag{Name: "state", Usage: "the state `DIR` made by `conjunct state init`"}
}

func stateInit(c *cli.Context, env *Env) error {
	dir, err := oneArgument(c, "DIR")
	if err != nil {
		return err
	}
	b, err := loadBundle(c)
	if err != nil {
		return err
	}
	if err := makeState(dir, b, env.Now().Unix()); err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "%s\n", b.Bundle().Digest)
	return nil
}

// makeState makes a state directory.
func makeState(dir string, b *bundle.Bundle, now int64) error {
	switch err := pdp.Init(dir, b, now); {
	case errors.Is(err, pdp.ErrNotEmpty):
		return usagef("choose a new or empty directory", "%s is not empty", dir)
	case err != nil:
		return begun(dir, err)
	}
	return nil
}

// patience is how long a command waits for another one that has the state open:
// a host that calls tools side by side asks side by side.
const patience = 3 * time.Second

// openState opens a state directory for writing.
func openState(c *cli.Context, env *Env, dir string) (*pdp.PDP, error) {
	o := pdp.Options{Now: func() int64 { return env.Now().Unix() }, World: env.World}
	if c.IsSet("redaction-key") {
		key, err := os.ReadFile(c.String("redaction-key"))
		if err != nil || len(key) < 16 {
			return nil, usagef("a key is at least 16 random bytes", "%s holds no redaction key", c.String("redaction-key"))
		}
		o.RedactionKey = key
	}
	p, err := pdp.Open(dir, o)
	for end := time.Now().Add(patience); errors.Is(err, pdp.ErrLocked) && time.Now().Before(end) && c.Context.Err() == nil; p, err = pdp.Open(dir, o) {
		time.Sleep(20 * time.Millisecond)
	}
	switch {
	case errors.Is(err, pdp.ErrNoState):
		return nil, noState(dir)
	case errors.Is(err, syscall.ENOTDIR):
		return nil, usagef("name the directory that holds it", "%s is no directory", dir)
	case errors.Is(err, pdp.ErrLocked):
		return nil, &hintedError{fmt.Errorf("%s: another process has the state open, and one at a time may", dir),
			"ask again; where every command takes long, `conjunct state checkpoint` shortens how long it has it open"}
	case err != nil:
		return nil, unread(dir, err)
	}
	if p.Cut > 0 {
		fmt.Fprintf(env.Stderr, "conjunct: %d bytes of an unfinished last entry were cut; nothing of it had been answered\n", p.Cut)
	}
	return p, nil
}

// readState folds a state directory without locking or writing it.
func readState(ctx context.Context, dir string) (*reexam.Fold, error) {
	fold, err := reexam.Load(ctx, dir, pdp.Versions())
	switch {
	case err != nil:
		return nil, unread(dir, err)
	case fold.Bundle() == nil:
		return nil, noState(dir)
	}
	return fold, nil
}

// noState says what a directory without a state lacks. One that holds bundles had
// a journal once, so it is not to be made anew.
func noState(dir string) error {
	switch _, err := os.Stat(filepath.Join(dir, "bundles")); {
	case reexam.Holds(dir):
		return &damagedError{dir, &reexam.Problem{Seq: 1, Code: reexam.BundleMissing, Text: "no bundle was activated"}}
	case err == nil:
		return usagef("put the journal back from a copy", "%s: the journal is missing", dir)
	}
	return usagef("make one with `conjunct state init DIR --bundle B`", "%s holds no state", dir)
}

// stateView is what `state show` prints.
type stateView struct {
	Revision string `json:"revision"`
	Digest   string `json:"digest"`
	Entries  uint64 `json:"entries"`
	Head     string `json:"head"`
	Clock    string `json:"clock"`
	Waiting  int    `json:"waiting"`
}

func stateShow(c *cli.Context, env *Env) error {
	dir, err := oneArgument(c, "DIR")
	if err != nil {
		return err
	}
	fold, err := readState(c.Context, dir)
	if err != nil {
		return err
	}
	view := fold.Store.Snapshot()
	id := fold.Bundle().Bundle()
	s := stateView{Revision: id.Revision, Digest: id.Digest, Entries: fold.Seq, Head: fold.Head, Clock: rfc3339(view.Clock()),
		Waiting: len(waiting(view, fold.Bundle().Contract(), env.Now().Unix()))}
	if c.String("format") == "json" {
		return newEncoder(env.Stdout).Encode(s)
	}
	p := &painter{w: env.Stdout}
	p.field("bundle", s.Revision)
	p.field("digest", s.Digest)
	p.field("entries", fmt.Sprint(s.Entries))
	p.field("head", s.Head)
	p.field("clock", s.Clock)
	p.field("waiting", fmt.Sprintf("%d reviews", s.Waiting))
	return p.err
}

func stateActivate(c *cli.Context, env *Env) error {
	dir, err := oneArgument(c, "DIR")
	if err != nil {
		return err
	}
	if !c.IsSet("bundle") {
		return usagef("name it with --bundle", "nothing says which bundle to put in force")
	}
	b, unloaded := loadBundle(c)
	var load *bundle.LoadError
	if unloaded != nil && !errors.As(unloaded, &load) {
		return unloaded
	}
	p, err := openState(c, env, dir)
	if err != nil {
		return err
	}
	if unloaded != nil {
		return cmp.Or(errors.Join(p.NotLoaded(operator()), p.Close()), unloaded)
	}
	err = errors.Join(p.Activate(c.Context, b, operator()), p.Close())
	if err == nil {
		fmt.Fprintf(env.Stdout, "%s\n", b.Bundle().Digest)
	}
	return err
}

func stateCheckpoint(c *cli.Context, env *Env) error {
	dir, err := oneArgument(c, "DIR")
	if err != nil {
		return err
	}
	var key ed25519.PrivateKey
	if c.IsSet("key") {
		if key, err = readKey(c.String("key")); err != nil {
			return err
		}
	}
	p, err := openState(c, env, dir)
	if err != nil {
		return err
	}
	made, err := p.Checkpoint(c.Context, operator(), key)
	if errors.Is(err, reexam.ErrNotListed) {
		err = notListed(c.String("key"))
	}
	if err := errors.Join(err, p.Close()); err != nil {
		return err
	}
	by := "unsigned"
	if made.Signer != "" {
		by = "signed by " + made.Signer
	}
	fmt.Fprintf(env.Stdout, "%s\n", made.State)
	fmt.Fprintf(env.Stderr, "conjunct: the state after entry %d, %s\n", made.Seq, by)
	return nil
}

// operator is the operating system's user, who runs the command.
func operator() engine.Identity { return engine.Identity{Name: systemUser(), Role: "operator"} }

func systemUser() string {
	u, err := user.Current()
	if err != nil || u.Username == "" {
		return ""
	}
	return u.Username
}

func resultCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:      "result",
		Usage:     "report what became of a permitted call",
		ArgsUsage: "TRACE/CALL",
		Description: `Says what became of a call, or later that a call was wrong. What the result holds
(--produced) is how a call is known to be built on it: when that call is rejected,
everything built on the same is looked at again.

   conjunct result --state DIR INC-1/c1 --status ok --latency 0.4 --produced pat@customer.example
   conjunct result --state DIR INC-1/c1 --incident wrong_target`,
		Flags: []cli.Flag{stateFlag(),
			&cli.StringFlag{Name: "status", Usage: "`STATUS`: ok, error, or not_run, which lets the call be proposed again"},
			&cli.Float64Flag{Name: "latency", Usage: "how long it took, in `SECONDS`"},
			&cli.Float64Flag{Name: "overhead", Usage: "how long the caller waited for the decision, in `SECONDS`"},
			&cli.Float64Flag{Name: "cost", Usage: "what it cost: a `NUMBER`, in the unit of the registry"},
			&cli.StringSliceFlag{Name: "produced", Usage: "an `ENTITY` found in the result; may be given more than once"},
			&cli.StringFlag{Name: "incident", Usage: "the call was wrong: `CODE` is one of " + strings.Join(engine.RejectionCodes(), ", ")},
			formatFlag("pretty", "json")},
		Action: func(c *cli.Context) error { return result(c, env) },
	}
}

// resultEvent reads what the flags say of a result.
func resultEvent(c *cli.Context) (engine.ResultEvent, error) {
	r := engine.ResultEvent{Recoverable: true, Produced: c.StringSlice("produced"), Incident: c.String("incident")}
	if err := r.Status.UnmarshalText([]byte(c.String("status"))); c.IsSet("status") && (err != nil || r.Status == engine.NoResult) {
		return r, usagef("say --status ok, error or not_run", "--status %q is no result", c.String("status"))
	}
	switch {
	case !c.IsSet("status") && !c.IsSet("incident"):
		return r, usagef("say --status ok, error or not_run, or --incident CODE", "--status is missing")
	case c.IsSet("incident") && !slices.Contains(engine.RejectionCodes(), r.Incident):
		return r, usagef("", "--incident must be one of %s", strings.Join(engine.RejectionCodes(), ", "))
	}
	for flag, into := range map[string]**float64{"latency": &r.Latency, "overhead": &r.Overhead, "cost": &r.Cost} {
		if n := c.Float64(flag); c.IsSet(flag) {
			if !(n >= 0) || math.IsInf(n, 0) {
				return r, usagef("", "--%s must be a number of at least 0", flag)
			}
			*into = &n
		}
	}
	return r, nil
}

// reported is a result that took effect.
type reported struct {
	Call     string `json:"call"`
	Status   string `json:"status,omitempty"`
	Incident string `json:"incident,omitempty"`
	Seq      uint64 `json:"seq"`
}

func result(c *cli.Context, env *Env) error {
	name, err := oneArgument(c, "TRACE/CALL")
	if err != nil {
		return err
	}
	report, err := resultEvent(c)
	if err != nil {
		return err
	}
	return withState(c, env, func(p *pdp.PDP) error {
		trace, call, err := findCall(p.Snapshot(), name)
		if err != nil {
			return err
		}
		rec, err := p.Apply(c.Context, engine.Event{Op: engine.OpResult, TraceID: trace, CallID: call, By: operator(), Result: report})
		if err := applied(rec, err); err != nil {
			return err
		}
		if c.String("format") == "json" {
			return newEncoder(env.Stdout).Encode(reported{name, c.String("status"), report.Incident, rec.Seq})
		}
		said := report.Status.String()
		if report.Incident != "" {
			said = "incident " + report.Incident
		}
		fmt.Fprintf(env.Stdout, "%s: %s, entry %d\n", visible(name), said, rec.Seq)
		return nil
	})
}

func needsState(c *cli.Context) error {
	if !c.IsSet("state") {
		return usagef("name the directory with --state", "a state directory is missing")
	}
	return nil
}

// withState opens the state that --state names, calls do, and closes it.
func withState(c *cli.Context, env *Env, do func(*pdp.PDP) error) error {
	if err := needsState(c); err != nil {
		return err
	}
	p, err := openState(c, env, c.String("state"))
	if err != nil {
		return err
	}
	return errors.Join(do(p), p.Close())
}

// reviewing are the events that only a reviewer may send.
var reviewing = []engine.Op{engine.OpReview, engine.OpClear, engine.OpConfirm, engine.OpCompensate, engine.OpAcknowledge}

// applied is the error of an event that took no effect: its first reason.
func applied(rec engine.Record, err error) error {
	if err != nil || rec.Invalid == "" {
		return err
	}
	blocked := &blockedError{msg: rec.Invalid}
	if len(rec.Reasons) == 0 {
		return blocked
	}
	blocked.msg = rec.Reasons[0].Text
	switch code := rec.Reasons[0].Code; {
	case code == "not_authorised" && slices.Contains(reviewing, rec.Op):
		blocked.hint = "reviewers stand in conjunct/authority/data.yaml of the bundle, each with a role that the contract names; `conjunct state activate` puts a changed bundle in force"
	case code == "no_current_request":
		blocked.hint = "`conjunct review list` shows what waits; a call that is not denied asks again when the agent proposes it again"
	}
	return blocked
}
