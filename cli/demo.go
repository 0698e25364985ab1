package cli

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/episode"
	"github.com/conjunct-project/conjunct/metrics"
	"github.com/conjunct-project/conjunct/pdp"
	"github.com/conjunct-project/conjunct/policies"
)

func demoCommand(env *Env) *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "watch three runs of a service desk agent",
		Description: `Plays three runs of a service desk agent through a real decision point, with the
built-in policy for service desks: one where everything runs, one where a call
waits and another is refused, and one where a person rejects a call and so
re-opens what was built on the same mistake. Then it shows the metrics.

With --state the journal stays, to look at with the other commands.`,
		Flags:  []cli.Flag{&cli.StringFlag{Name: "state", Usage: "keep the journal in `DIR`, which must not hold one yet"}},
		Action: func(c *cli.Context) error { return showDemo(c, env) },
	}
}

//go:embed demo/*.jsonl
var demoRuns embed.FS

// demoStories are the runs, in the order of their times, and what each shows.
var demoStories = []struct{ run, title, story string }{
	{"clean-INC-4471", "A ticket like any other",
		`An agent reads ticket INC-4471, looks around, drafts an answer and sets the ticket's status. Nothing of this is hard to undo or reaches far, so nobody is asked.`},
	{"blocked-INC-5012", "What a sure agent may not do",
		`Ticket INC-5012 asks for an account to be closed, and the agent is sure: its confidence is above the threshold all along.`},
	{"override-INC-4471", "One rejection re-opens what was built on the same mistake",
		`The ticket gives a wrong address for a partner. The agent believes it, and so do the calls that follow.`},
}

func showDemo(c *cli.Context, env *Env) error {
	if err := noArguments(c); err != nil {
		return err
	}
	dir, kept := c.String("state"), c.IsSet("state")
	if !kept {
		temporary, err := os.MkdirTemp("", "conjunct-demo-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temporary)
		dir = filepath.Join(temporary, "state")
	}
	d := &demo{ctx: c.Context, painter: &painter{w: env.Stdout, color: env.Color}}
	if err := d.open(dir); err != nil {
		return err
	}
	if err := errors.Join(d.play(), d.gate.Close()); err != nil {
		return err
	}
	r, err := metrics.Of(c.Context, dir, metrics.Options{Library: policiesBeside(dir)})
	if err != nil {
		return err
	}
	d.figures(&r)
	if kept {
		d.next(dir)
	} else {
		d.nextWithout()
	}
	return d.err
}

// demo plays episodes on a decision point and tells what happens.
type demo struct {
	*painter
	ctx  context.Context
	gate *pdp.PDP
	now  int64
	runs []episode.Episode
	// proposed are the calls of the run at hand, in order; waited is how long the
	// decision of each took.
	proposed []*engine.Decision
	waited   map[string]float64
}

// open makes the state directory, whose clock is that of the runs.
func (d *demo) open(dir string) error {
	b, err := demoBundle()
	if err != nil {
		return err
	}
	for _, s := range demoStories {
		text, err := demoRuns.ReadFile("demo/" + s.run + ".jsonl")
		if err != nil {
			return err
		}
		run, err := episode.Decode(bytes.TrimSpace(text), b.Contract())
		if err != nil {
			return err
		}
		d.runs = append(d.runs, run)
	}
	d.now = d.runs[0].Events()[0].Time
	if err := makeState(dir, b, d.now); err != nil {
		return err
	}
	d.gate, err = pdp.Open(dir, pdp.Options{Now: func() int64 { return d.now }})
	return err
}

// demoBundle is the policy for service desks with a list of reviewers: the one
// of the runs, and whoever runs the demonstration.
func demoBundle() (*bundle.Bundle, error) {
	fsys, err := policies.FS("itsm")
	if err != nil {
		return nil, err
	}
	files, err := bundle.FromFS(fsys, "built-in itsm")
	if err != nil {
		return nil, err
	}
	lead := map[string]string{"role": "service-desk-lead"}
	reviewers := map[string]any{"lena": lead}
	if name := systemUser(); name != "" {
		reviewers[name] = lead
	}
	if files.Content["conjunct/authority/data.json"], err = json.Marshal(map[string]any{"reviewers": reviewers}); err != nil {
		return nil, err
	}
	return bundle.Load(files)
}

func (d *demo) play() error {
	d.printf("%s\n\n", wrap(`Three runs of an agent at a service desk. Every call it proposes is decided by the built-in
		policy for service desks and journalled, as it would be in earnest. A line tells what became of a call, its id and
		tool, and how hard it is to undo and how far it reaches.`, 91, ""))
	for i, run := range d.runs {
		s := demoStories[i]
		d.printf("%s  %s\n%s\n\n", d.paint(bold, fmt.Sprintf("%d. %s", i+1, s.title)), d.paint(dim, s.run), wrap(s.story, 88, "   "))
		d.proposed, d.waited = nil, map[string]float64{}
		for _, e := range run.Events() {
			d.now = e.Time
			if err := d.event(e); err != nil {
				return err
			}
		}
		d.printf("\n")
	}
	return nil
}

func (d *demo) event(e engine.Event) error {
	if e.Op == engine.OpAttempt {
		asked := time.Now()
		answer, err := d.gate.Decide(d.ctx, e.Attempt.Action)
		if err != nil {
			return err
		}
		d.waited[answer.CallID] = time.Since(asked).Round(time.Microsecond).Seconds()
		d.proposed = append(d.proposed, &answer)
		d.decided(&answer)
		return nil
	}
	if waited, ok := d.waited[e.CallID]; ok && e.Op == engine.OpResult {
		// Of all that the runs report this alone is measured here and now.
		e.Result.Overhead = &waited
	}
	rec, err := d.gate.Apply(d.ctx, e)
	if err := applied(rec, err); err != nil {
		return err
	}
	if e.Op == engine.OpReview {
		d.reviewed(e, rec)
	}
	return nil
}

// line says what became of a call.
func (d *demo) line(sgr, what, call, tool, note string) {
	text := fmt.Sprintf("%-4s%-22s%s", call, tool, note)
	d.printf("   %s %s\n", d.paint(sgr, fmt.Sprintf("%-11s", what)), strings.TrimRight(text, " "))
}

func (d *demo) why(text string) { d.printf("%s\n", d.paint(dim, wrap(text, 88, "               "))) }

func (d *demo) decided(a *engine.Decision) {
	note := fmt.Sprintf("%s, %s", a.Consequence.Reversibility, a.Consequence.BlastRadius)
	switch {
	case a.Permit && a.Notify:
		d.line(green, "ran", a.CallID, a.Tool, note+"; somebody is told")
	case a.Permit:
		d.line(green, "ran", a.CallID, a.Tool, note)
	case a.Outcome == engine.Review:
		d.line(yellow, "waits", a.CallID, a.Tool, note)
		d.why(a.Reason)
	default:
		d.line(red, "refused", a.CallID, a.Tool, note)
		d.why(a.Reason)
	}
}

func (d *demo) reviewed(e engine.Event, rec engine.Record) {
	d.printf("\n   %s looks at %s and decides: %s", e.By.Name, e.CallID, rec.ReviewOutcome)
	if e.Review.Code != "" {
		d.printf(" (%s)", strings.ReplaceAll(e.Review.Code, "_", " "))
	}
	d.printf("\n")
	if e.Review.Note != "" {
		d.why(fmt.Sprintf("%q", e.Review.Note))
	}
	if len(rec.Due) > 0 {
		d.printf("\n%s\n\n", wrap(`The rejected call will not run under whatever id it comes back. And what it was built on is suspect now,
			so every other call that was built on the same is looked at again:`, 91, "   "))
		d.reopened(e.CallID, rec.Due)
	}
}

// reopened tells what the rejection of a call did to the others of the run.
func (d *demo) reopened(rejected string, due []engine.Reexamination) {
	view := d.gate.Snapshot()
	ran := false
	for _, a := range d.proposed {
		i := slices.IndexFunc(due, func(r engine.Reexamination) bool { return r.Path.Call == a.CallHash })
		if i < 0 && a.CallID != rejected {
			d.line(dim, "untouched", a.CallID, a.Tool, "holds nothing that is suspect")
		}
		if i < 0 {
			continue
		}
		held := make([]string, len(due[i].Items))
		for k, item := range due[i].Items {
			held[k] = strings.ReplaceAll(item.Kind, "_", " ") + " " + item.Value
		}
		note := strings.Join(held, ", ")
		switch pulled := view.Path(a.TraceID, a.CallHash).Pulled; {
		case due[i].Origin:
			d.line(yellow, "flagged", a.CallID, a.Tool, "where it came from, as far as is known; "+note)
		case due[i].Read:
			d.line(yellow, "flagged", a.CallID, a.Tool, "a read, so nothing to undo; holds "+note)
		case pulled != nil && pulled.Answer == "":
			ran = ran || pulled.Ran
			d.line(red, "pulled back", a.CallID, a.Tool, "holds "+note)
		default:
			d.line(yellow, "looked at", a.CallID, a.Tool, "holds "+note)
		}
	}
	if ran {
		d.printf("\n%s\n", wrap(`What ran is never run again. A person confirms it, compensates it with another call, which is gated like
			any, or acknowledges it; until then it waits in the queue.`, 91, "   "))
	}
}

// figures shows the metrics that a newcomer asks for first.
func (d *demo) figures(r *metrics.Report) {
	d.printf("%s\n%s\n\n", d.paint(bold, "What came of it"),
		wrap("Every figure is made of the journal that the runs left, and nothing else. A call weighs 1, 2, 5 or 13 by its tier.", 88, "   "))
	for _, n := range r.All() {
		note, shown := demoFigures[n.Name]
		if !shown {
			continue
		}
		name := strings.ReplaceAll(n.Name, "_", " ")
		if n.Class != "" {
			name += ", " + n.Class
		}
		value, counts := figure(&n)
		d.printf("   %-36s %8s  %-11s %s\n", name, value, counts, d.paint(dim, note))
	}
	d.printf("\n")
}

var demoFigures = map[string]string{
	"task_completion":              "of all calls were run",
	"success":                      "of these without error",
	"cost_per_action":              "each",
	"escalation_precision":         "of the stopped were rejected by a person",
	"escalation_precision_decided": "of those that a person decided",
	"cost_weighted_error":          "of all weight was wrong",
	"override_rate":                "of the queued were rejected",
}

func (d *demo) next(dir string) {
	dir = shellWord(dir)
	d.printf("%s\n", d.paint(bold, "Try next"))
	for _, command := range []string{
		"conjunct review list --state " + dir,
		"conjunct review show --state " + dir + " blocked-INC-5012/c1",
		"conjunct review approve --state " + dir + " blocked-INC-5012/c1",
		"conjunct review acknowledge --state " + dir + " override-INC-4471/c4",
		"conjunct review list --notify --state " + dir,
		"conjunct metrics " + dir,
		"conjunct replay " + dir,
	} {
		d.printf("   %s\n", command)
	}
}

func (d *demo) nextWithout() {
	d.printf("%s\n", d.paint(bold, "Try next"))
	for _, command := range []string{
		"conjunct demo --state ./demo-state",
		"conjunct init ./my-policy",
		"conjunct --help",
	} {
		d.printf("   %s\n", command)
	}
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// shellWord quotes a word for a shell where it needs that.
func shellWord(s string) string {
	if plainWord.MatchString(s) && !strings.HasPrefix(s, "-") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
