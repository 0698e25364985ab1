package bundle

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/datafile"
	"github.com/conjunct-project/conjunct/engine"
)

// contract reads conjunct/contract/data.yaml.
func (d *decoder) contract(n *datafile.Node) *engine.Contract {
	c := &engine.Contract{Threshold: 0.85, Required: 1, Priority: engine.Causes(), Reexamination: "trace",
		Gates: map[string]engine.GateRule{}, TracePins: []string{"context", "rule", "component"}, PathPins: []string{"input", "output"},
		Approval: engine.ApprovalRule{VoidedBy: []engine.Binding{engine.BindPins, engine.BindBundle, engine.BindFacts, engine.BindEvidence, engine.BindSuspicion}}}
	if n == nil {
		d.Report(nil, "data_missing_key", "a bundle needs conjunct/contract/data.yaml", "the bundle has no contract")
		return c
	}
	var budget, required int64 = 0, 1
	d.Object(n, "the contract", datafile.Fields{
		"threshold":        d.Number("threshold", 0, 1, &c.Threshold),
		"start":            d.start(&c.Start),
		"pins":             d.pins(c),
		"evidence":         d.records("evidence", &c.Evidence),
		"context":          d.records("context", &c.Context),
		"components":       d.components(c),
		"retry_budget":     d.Whole("retry_budget", 0, &budget),
		"high_consequence": d.highConsequence(c),
		"roles":            d.Texts("roles", &c.Roles),
		"required":         d.Whole("required", 1, &required),
		"signed_reviews":   d.Boolean("signed_reviews", &c.SignedReviews),
		"gates":            d.gates(c),
		"priority":         d.priority(c),
		"author":           d.Text("author", &c.Author),
		"approval":         d.approval(&c.Approval),
		"rejection":        d.rejection(c),
		"expiry":           d.Member("expiry", &c.Expiry),
		"queue":            d.Member("queue", &c.Queue),
		"calls":            d.Member("calls", &c.Calls),
		"reexamination":    d.oneOf("reexamination", &c.Reexamination, "trace", "window", "off"),
		"window":           d.Whole("window", 1, &c.Window),
		"counters":         d.counters(c),
		"redact":           d.redact(c),
		"default_action":   d.defaultAction(c),

		"critic":            d.critic(c),
		"plan":              d.plans(c),
		"approved_entities": d.approvedEntities(c),
	})
	c.RetryBudget, c.Required = int(budget), int(required)
	for name, kind := range engineSettings {
		// A limit that the contract does not start with may still be set later.
		if _, given := c.Start.Settings[name]; !given && kind == 'n' {
			c.Start.Settings[name] = nil
		}
	}
	if (c.Reexamination == "window") != (c.Window > 0 || n.At("window") != nil) {
		d.Report(n.At("reexamination"), "data_missing_key", "", "reexamination: window and window (seconds) go together")
	}
	for _, name := range c.TracePins {
		if slices.Contains(c.PathPins, name) {
			d.Report(n.At("pins"), "data_duplicate_item", "", "pin %q is of the trace and of the path", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Context)) {
		if _, twice := c.Evidence[name]; twice {
			d.Report(n.At("context", name), "data_duplicate_key", "", "%q is evidence and context", name)
		}
	}
	d.pinNames(n, c)
	return c
}

func (d *decoder) oneOf(what string, into *string, known ...string) func(*datafile.Node) {
	return func(n *datafile.Node) {
		d.Text(what, into)(n)
		if !slices.Contains(known, *into) {
			d.Report(n, "data_unknown_value", engine.DidYouMean(*into, known), "%s must be one of %s", what, strings.Join(known, ", "))
		}
	}
}

// start reads first values. A setting is a scalar; null means that there is no
// limit.
func (d *decoder) start(s *engine.Start) func(*datafile.Node) {
	s.Settings, s.Pins, s.Evidence = map[string]any{}, map[string]string{}, map[string]engine.Verdict{}
	return func(n *datafile.Node) {
		d.Object(n, "start", datafile.Fields{
			"settings": d.Each("start.settings", func(name string, _, v *datafile.Node) {
				if v.Kind != datafile.Scalar {
					d.Report(v, "data_type", "", "setting %s must be text, a number, true, false or null", name)
					return
				}
				s.Settings[name] = v.Value
				d.knownSetting(name, v)
			}),
			"pins": d.Each("start.pins", func(name string, _, v *datafile.Node) {
				var text string
				d.Text("pin "+name, &text)(v)
				s.Pins[name] = text
			}),
			"evidence": d.Each("start.evidence", func(name string, _, v *datafile.Node) {
				var verdict engine.Verdict
				d.Member("evidence "+name, &verdict)(v)
				if verdict == engine.NotApplicable {
					d.Report(v, "data_unknown_value", "", "evidence is pass, fail or unknown")
				}
				s.Evidence[name] = verdict
			}),
		})
	}
}

// engineSettings are the settings that the standard gates read, with the type
// of each: n for a number or null, b for true or false.
var engineSettings = map[string]byte{"eligible": 'b', "queue": 'n', "capacity": 'n', "deadline": 'n', "review_ttl": 'n'}

func (d *decoder) knownSetting(name string, n *datafile.Node) {
	_, isNumber := n.Value.(float64)
	_, isBool := n.Value.(bool)
	switch engineSettings[name] {
	case 'n':
		if f, _ := n.Value.(float64); f < 0 {
			d.Report(n, "data_range", "", "setting %s must not be negative", name)
		}
		if !isNumber && n.Value != nil {
			d.Report(n, "data_type", "", "setting %s must be a number or null", name)
		}
	case 'b':
		if !isBool {
			d.Report(n, "data_type", "", "setting %s must be true or false", name)
		}
	}
}

func (d *decoder) pins(c *engine.Contract) func(*datafile.Node) {
	return func(n *datafile.Node) {
		d.Object(n, "pins", datafile.Fields{"trace": d.Texts("pins.trace", &c.TracePins), "path": d.Texts("pins.path", &c.PathPins)})
	}
}

// pinNames holds every pin that the contract speaks of against the pins it has.
func (d *decoder) pinNames(n *datafile.Node, c *engine.Contract) {
	known := append(slices.Clone(c.TracePins), c.PathPins...)
	check := func(at *datafile.Node, name string) {
		if !slices.Contains(known, name) {
			d.Report(at, "data_unknown_pin", engine.DidYouMean(name, known), "the contract has no pin %q", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Start.Pins)) {
		check(n.At("start", "pins", name), name)
	}
	for section, rules := range map[string]map[string]engine.RecordRule{"evidence": c.Evidence, "context": c.Context} {
		for _, kind := range slices.Sorted(maps.Keys(rules)) {
			for _, name := range rules[kind].Pins {
				check(n.At(section, kind), name)
			}
		}
	}
	if c.Author != "" {
		check(n.At("author"), c.Author)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Start.Evidence)) {
		if _, ok := c.Evidence[name]; !ok {
			d.Report(n.At("start", "evidence", name), "data_unknown_evidence", engine.DidYouMean(name, slices.Sorted(maps.Keys(c.Evidence))), "the contract has no evidence %q", name)
		}
	}
}

func (d *decoder) records(what string, into *map[string]engine.RecordRule) func(*datafile.Node) {
	*into = map[string]engine.RecordRule{}
	return d.Each(what, func(name string, _, n *datafile.Node) {
		var r engine.RecordRule
		d.Object(n, what+" "+name, datafile.Fields{
			"ttl":     d.OptionalWhole("ttl", 0, &r.TTL),
			"sources": d.Texts("sources", &r.Sources),
			"pins":    d.Texts("pins", &r.Pins),
			"fields": func(n *datafile.Node) {
				d.Texts("fields", &r.Required)(n)
				for _, f := range r.Required {
					if f != "source" && f != "expires" {
						d.Report(n, "data_unknown_value", engine.DidYouMean(f, []string{"source", "expires"}), "fields may name source and expires, not %q", f)
					}
				}
			},
		})
		(*into)[name] = r
	})
}

func (d *decoder) components(c *engine.Contract) func(*datafile.Node) {
	return func(n *datafile.Node) {
		c.Components = map[string]engine.ComponentRule{}
		d.Each("components", func(name string, _, n *datafile.Node) {
			var r engine.ComponentRule
			d.Object(n, "component "+name, datafile.Fields{
				"tools": d.Texts("tools", &r.Tools),
				"tasks": d.Texts("tasks", &r.Tasks),
				"until": d.OptionalWhole("until", 0, &r.Until),
			}, "tools")
			c.Components[name] = r
		})(n)
	}
}

func (d *decoder) highConsequence(c *engine.Contract) func(*datafile.Node) {
	c.HighConsequence = map[string][]string{}
	return d.Each("high_consequence", func(property string, key, n *datafile.Node) {
		values, ok := engine.Properties()[property]
		if !ok {
			d.Report(key, "data_unknown_key", engine.DidYouMean(property, slices.Sorted(maps.Keys(engine.Properties()))), "%q is no consequence property", property)
			return
		}
		var list []string
		d.Texts(property, &list)(n)
		for _, v := range list {
			if !slices.Contains(values, v) {
				d.Report(n, "data_unknown_value", engine.DidYouMean(v, values), "%s is never %q", property, v)
			}
		}
		if n.Kind == datafile.Array && len(n.Items) == 0 {
			d.Report(n, "data_range", "leave it out", "%s lists no value, so no consequence is high because of it", property)
		}
		c.HighConsequence[property] = list
	})
}

// gateRule reports what a gate's entry says that would not count.
func (d *decoder) gateRule(name string, g engine.GateRule, n *datafile.Node) {
	scoped := slices.Contains([]string{engine.ContextGate, engine.EvidenceReq, engine.Eligibility, engine.Structure, engine.CriticGate}, name)
	switch {
	case scoped && (g.Scope == "") != (g.Rationale == ""):
		d.Report(n, "data_gate", "a gate is left out only with both", "gate %s has a scope or a rationale and lacks the other", name)
	case engine.DidYouMean(name, families()) != "" && !slices.Contains(families(), name), fixed(name) && g.Scope != "":
		// Said elsewhere in better words.
	case !scoped && (g.Rationale != "" || g.Scope != ""):
		d.Report(n, "data_gate", "", "gate %s is never not applicable, so it has no scope and no rationale", name)
	case g.Tools != nil && len(g.Tools) == 0:
		d.Report(n.At("tools"), "data_range", "leave tools out for every tool", "gate %s lists no tool, so it would never apply", name)
	}
}

// fixed reports whether a standard gate applies to every call.
func fixed(name string) bool {
	return name == engine.Bounds || name == engine.Supervision || name == engine.Resolved
}

// families lists the gates whose row of transitions an own gate may take.
func families() []string { return append(engine.StandardGates(), engine.Structure, engine.CriticGate) }

func (d *decoder) gates(c *engine.Contract) func(*datafile.Node) {
	return d.Each("gates", func(name string, _, n *datafile.Node) {
		var g engine.GateRule
		d.Object(n, "gate "+name, datafile.Fields{
			"scope":      d.Text("scope", &g.Scope),
			"rationale":  d.Text("rationale", &g.Rationale),
			"on_fail":    d.Member("on_fail", &g.OnFail),
			"on_unknown": d.Member("on_unknown", &g.OnUnknown),
			"family":     d.family(&g.Family),
			"tools":      d.Texts("tools", &g.Tools),
		})
		if fixed(name) && g.Scope != "" {
			d.Report(n, "data_gate", "", "%s applies to every call, so it has no scope", name)
		}
		if slices.Contains(families(), name) && (n.At("on_fail") != nil || n.At("on_unknown") != nil || n.At("family") != nil || n.At("tools") != nil) {
			d.Report(n, "data_gate", "", "what follows from the standard gate %s is fixed", name)
		}
		d.gateRule(name, g, n)
		c.Gates[name] = g
	})
}

func (d *decoder) family(into *string) func(*datafile.Node) {
	return d.oneOf("family", into, families()...)
}

// priority reads the order of causes: every cause once.
func (d *decoder) priority(c *engine.Contract) func(*datafile.Node) {
	return func(n *datafile.Node) {
		var order []engine.Cause
		d.Items("priority", func(_ int, n *datafile.Node) {
			var cause engine.Cause
			d.Member("priority", &cause)(n)
			if slices.Contains(order, cause) {
				d.Report(n, "data_duplicate_item", "", "priority names %s twice", cause)
			}
			order = append(order, cause)
		})(n)
		for _, cause := range engine.Causes() {
			if !slices.Contains(order, cause) {
				d.Report(n, "data_missing_key", "", "priority lacks the cause %s", cause)
			}
		}
		if slices.Contains(order, engine.NoCause) {
			d.Report(n, "data_unknown_value", "", "priority names the cause none")
		}
		c.Priority = order
	}
}

func (d *decoder) bindings(what string, into *[]engine.Binding) func(*datafile.Node) {
	return func(n *datafile.Node) {
		*into = []engine.Binding{}
		d.Items(what, func(_ int, n *datafile.Node) {
			var b engine.Binding
			before := len(d.Problems)
			d.Member(what, &b)(n)
			if len(d.Problems) > before {
				return
			}
			if slices.Contains(*into, b) {
				d.Report(n, "data_duplicate_item", "", "%s names %s twice", what, b)
			}
			*into = append(*into, b)
		})(n)
	}
}

func (d *decoder) approval(a *engine.ApprovalRule) func(*datafile.Node) {
	return func(n *datafile.Node) {
		uses := "once"
		d.Object(n, "approval", datafile.Fields{
			"uses":      d.oneOf("approval.uses", &uses, "once", "many"),
			"voided_by": d.bindings("approval.voided_by", &a.VoidedBy),
		})
		a.Many = uses == "many"
	}
}

// rejection reads what voids a rejection: none, or pins.
func (d *decoder) rejection(c *engine.Contract) func(*datafile.Node) {
	return func(n *datafile.Node) {
		d.Object(n, "rejection", datafile.Fields{"voided_by": func(n *datafile.Node) {
			if n.Value == "none" {
				return
			}
			d.bindings("rejection.voided_by", &c.RejectionVoid)(n)
			if slices.ContainsFunc(c.RejectionVoid, func(b engine.Binding) bool { return b != engine.BindPins }) {
				d.Report(n, "data_unknown_value", "", "rejection.voided_by must be none or [pins]")
			}
		}})
	}
}

func (d *decoder) counters(c *engine.Contract) func(*datafile.Node) {
	c.Counters = map[string]engine.CounterRule{}
	return d.Each("counters", func(name string, _, n *datafile.Node) {
		// Another case or a space more is no other account.
		r := engine.CounterRule{Form: action.Value}
		d.Object(n, "counter "+name, datafile.Fields{
			"tools":  d.Texts("tools", &r.Tools),
			"sum":    d.Text("sum", &r.Sum),
			"by":     d.Text("by", &r.By),
			"window": d.Whole("window", 0, &r.Window),
		}, "tools")
		if tools := n.At("tools"); tools != nil && tools.Kind == datafile.Array && len(tools.Items) == 0 {
			d.Report(tools, "data_range", "name the tools whose calls it counts", "counter %s lists no tool, so it counts nothing", name)
		}
		c.Counters[name] = r
	})
}

func (d *decoder) redact(c *engine.Contract) func(*datafile.Node) {
	c.Redact = map[string][]string{}
	return d.Each("redact", func(tool string, _, n *datafile.Node) {
		var names []string
		d.Texts("redact."+tool, &names)(n)
		c.Redact[tool] = names
	})
}

func (d *decoder) defaultAction(c *engine.Contract) func(*datafile.Node) {
	return func(n *datafile.Node) {
		text, err := json.Marshal(n.Any())
		if err != nil {
			d.Report(n, "data_type", "", "default_action: %v", err)
			return
		}
		a, err := action.Decode(text)
		if err != nil {
			d.Report(n, "data_action", "", "default_action: %v", err)
			return
		}
		c.DefaultAction = &a
	}
}
