package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/reexam"
)

// reply is a command of a reviewer's answer to suspicion or to a pull-back.
func reply(env *Env, op engine.Op, usage string, more ...cli.Flag) *cli.Command {
	flags := append([]cli.Flag{stateFlag(), &cli.StringFlag{Name: "key", Usage: "sign with the key in `FILE`, made by `review keygen`"},
		&cli.StringFlag{Name: "note", Usage: "a `TEXT` for the record"}, formatFlag("pretty", "json")}, more...)
	return &cli.Command{Name: op.String(), Usage: usage, ArgsUsage: "TRACE/CALL", Flags: flags,
		Action: func(c *cli.Context) error { return sayTo(c, env, op) }}
}

func sayTo(c *cli.Context, env *Env, op engine.Op) error {
	name, err := oneArgument(c, "TRACE/CALL")
	if err != nil {
		return err
	}
	if op == engine.OpCompensate && c.String("with") == "" {
		return usagef("name it with --with CALL", "what makes up for the call is missing")
	}
	return withState(c, env, func(p *pdp.PDP) error {
		v := p.Snapshot()
		trace, call, err := findCall(v, name)
		if err != nil {
			return err
		}
		hash, _ := v.CallHash(trace, call)
		events := []engine.Event{{Op: op, TraceID: trace, CallID: call, Answer: engine.Answer{Note: c.String("note"), With: c.String("with")}}}
		if op == engine.OpClear {
			if events, err = clearings(c, v, name, engine.PathKey{Trace: trace, Call: hash}); err != nil {
				return err
			}
			hash = "" // an item is cleared, not a call
		}
		for _, e := range events {
			if err := sendAnswer(c, env, p, e, name, hash); err != nil {
				return err
			}
		}
		return nil
	})
}

// clearings lists what to clear: the items that the call's rejection made
// suspect, or that a pulled-back call holds.
func clearings(c *cli.Context, v engine.View, name string, key engine.PathKey) (out []engine.Event, err error) {
	path := v.Path(key.Trace, key.Call)
	var values []string
	for _, s := range v.AllSuspicions() {
		holds := s.Trace == key.Trace && slices.ContainsFunc(path.Holds, func(i engine.Item) bool { return i.Value == s.Value })
		if s.Call != key && !holds {
			continue
		}
		values = append(values, s.Value)
		if !c.IsSet("item") || s.Value == action.Value(c.String("item")) {
			out = append(out, engine.Event{Op: engine.OpClear, TraceID: s.Trace, Answer: engine.Answer{Item: s.Item, Note: c.String("note")}})
		}
	}
	switch {
	case len(values) == 0:
		return nil, usagef("`conjunct review list --suspect` shows what is", "%s is built on nothing that is suspect", name)
	case len(out) == 0:
		slices.Sort(values)
		return nil, usagef("what is suspect of it: "+strings.Join(slices.Compact(values), ", "), "%q is no suspect item of %s", c.String("item"), name)
	}
	return out, nil
}

func sendAnswer(c *cli.Context, env *Env, p *pdp.PDP, e engine.Event, name, hash string) error {
	e.By = engine.Identity{Name: systemUser()}
	if c.IsSet("key") {
		if err := sign(&e, p.Bundle(), p.Snapshot(), hash, c.String("key")); err != nil {
			return err
		}
	}
	rec, err := p.Apply(c.Context, e)
	if err := applied(rec, err); err != nil {
		return err
	}
	a := given{Call: name, Outcome: rec.ReviewOutcome.String(), By: e.By.Name, Signed: c.IsSet("key"), Seq: rec.Seq}
	outcome := a.Outcome
	if e.Op == engine.OpClear {
		a.Outcome, a.Item = "cleared", &e.Answer.Item
		outcome = fmt.Sprintf("%s %s cleared", e.Answer.Item.Kind, visible(e.Answer.Item.Value))
	}
	return printGiven(c, env, &a, outcome)
}

// suspectItem is an item that is suspect, flaggedRead a read that has to do with
// one, as `review list --suspect` prints them.
type suspectItem struct {
	Trace     string `json:"trace_id"`
	Kind      string `json:"kind"`
	Value     string `json:"value"`
	Since     string `json:"since"`
	Rejection uint64 `json:"rejection"`
	Code      string `json:"code"`
	By        string `json:"by"`
}

type flaggedRead struct {
	Call   string        `json:"call"`
	Tool   string        `json:"tool"`
	Origin bool          `json:"origin"`
	Items  []engine.Item `json:"items"`
}

func suspectsOf(fold *reexam.Fold) (items []suspectItem, reads []flaggedRead) {
	suspicions, flagged := reexam.Suspects(fold.Store.Snapshot())
	items, reads = []suspectItem{}, []flaggedRead{}
	for _, s := range suspicions {
		items = append(items, suspectItem{s.Trace, s.Kind, s.Value, rfc3339(s.Time), s.Rejection, s.Code, s.By})
	}
	for _, r := range flagged {
		reads = append(reads, flaggedRead{r.TraceID + "/" + r.CallID, r.Tool, r.Origin, r.Items})
	}
	return items, reads
}

func listSuspects(c *cli.Context, env *Env, items []suspectItem, reads []flaggedRead) error {
	if c.String("format") == "json" {
		return newEncoder(env.Stdout).Encode(map[string]any{"items": items, "flagged": reads})
	}
	p := &painter{w: env.Stdout}
	p.suspects(items, reads)
	if len(items)+len(reads) == 0 {
		p.printf("nothing is suspect\n")
	}
	return p.err
}

// suspects prints the suspect items and the flagged reads.
func (p *painter) suspects(items []suspectItem, reads []flaggedRead) {
	for _, i := range items {
		p.printf("suspect  %-32s %-18s %s  since %s (entry %d, %s)\n", visible(i.Value), i.Kind, visible(i.Trace), i.Since, i.Rejection, i.Code)
	}
	for _, r := range reads {
		origin := ""
		if r.Origin {
			origin = "  where it came from"
		}
		p.printf("flagged  %-32s %s%s\n", visible(r.Call), visible(r.Tool), origin)
	}
}

// notification is a call that somebody has to be told of.
type notification struct {
	Call  string `json:"call"`
	Tool  string `json:"tool"`
	Agent string `json:"agent"`
	Time  string `json:"time"`
	Seq   uint64 `json:"seq"`
}

func listNotifications(c *cli.Context, env *Env) error {
	dir := c.String("state")
	list, err := reexam.Notifications(c.Context, dir)
	if err != nil {
		return unread(dir, err)
	}
	out := []notification{}
	for _, n := range list {
		out = append(out, notification{n.TraceID + "/" + n.CallID, n.Tool, n.Agent.ID, rfc3339(n.Time), n.Seq})
	}
	if c.String("format") == "json" {
		return newEncoder(env.Stdout).Encode(out)
	}
	p := &painter{w: env.Stdout}
	for _, n := range out {
		p.printf("%-40s %-24s ran %s  entry %d\n", visible(n.Call), visible(n.Tool), n.Time, n.Seq)
	}
	if len(out) == 0 {
		p.printf("nobody has to be told of anything\n")
	}
	return p.err
}
