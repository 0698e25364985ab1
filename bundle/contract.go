package bundle

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/engine"
)

// contract reads conjunct/contract/data.yaml.
func (d *decoder) contract(n *node) *engine.Contract {
	c := &engine.Contract{Threshold: 0.85, Required: 1, Priority: engine.Causes(), Reexamination: "trace",
		Gates: map[string]engine.GateRule{}, TracePins: []string{"context", "rule", "component"}, PathPins: []string{"input", "output"},
		Approval: engine.ApprovalRule{VoidedBy: []engine.Binding{engine.BindPins, engine.BindBundle, engine.BindFacts, engine.BindEvidence, engine.BindSuspicion}}}
	if n == nil {
		d.report(nil, "data_missing_key", "a bundle needs conjunct/contract/data.yaml", "the bundle has no contract")
		return c
	}
	var budget, required int64 = 0, 1
	d.object(n, "the contract", fields{
		"threshold":        d.number("threshold", 0, 1, &c.Threshold),
		"start":            d.start(&c.Start),
		"pins":             d.pins(c),
		"evidence":         d.records("evidence", &c.Evidence),
		"context":          d.records("context", &c.Context),
		"components":       d.components(c),
		"retry_budget":     d.whole("retry_budget", 0, &budget),
		"high_consequence": d.highConsequence(c),
		"roles":            d.texts("roles", &c.Roles),
		"required":         d.whole("required", 1, &required),
		"signed_reviews":   d.boolean("signed_reviews", &c.SignedReviews),
		"gates":            d.gates(c),
		"priority":         d.priority(c),
		"author":           d.text("author", &c.Author),
		"approval":         d.approval(&c.Approval),
		"rejection":        d.rejection(c),
		"expiry":           d.member("expiry", &c.Expiry),
		"queue":            d.member("queue", &c.Queue),
		"calls":            d.member("calls", &c.Calls),
		"reexamination":    d.oneOf("reexamination", &c.Reexamination, "trace", "window", "off"),
		"window":           d.whole("window", 1, &c.Window),
		"counters":         d.counters(c),
		"default_action":   d.defaultAction(c),
	})
	c.RetryBudget, c.Required = int(budget), int(required)
	d.pinNames(n, c)
	return c
}

func (d *decoder) oneOf(what string, into *string, known ...string) func(*node) {
	return func(n *node) {
		d.text(what, into)(n)
		if !slices.Contains(known, *into) {
			d.report(n, "data_unknown_value", engine.DidYouMean(*into, known), "%s must be one of %s", what, strings.Join(known, ", "))
		}
	}
}

// start reads first values. A setting is a scalar; null means that there is no
// limit.
func (d *decoder) start(s *engine.Start) func(*node) {
	s.Settings, s.Pins, s.Evidence = map[string]any{}, map[string]string{}, map[string]engine.Verdict{}
	return func(n *node) {
		d.object(n, "start", fields{
			"settings": d.each("start.settings", func(name string, _, v *node) {
				if v.kind != scalarKind {
					d.report(v, "data_type", "", "setting %s must be text, a number, true, false or null", name)
					return
				}
				s.Settings[name] = v.value
				d.knownSetting(name, v)
			}),
			"pins": d.each("start.pins", func(name string, _, v *node) {
				var text string
				d.text("pin "+name, &text)(v)
				s.Pins[name] = text
			}),
			"evidence": d.each("start.evidence", func(name string, _, v *node) {
				var verdict engine.Verdict
				d.member("evidence "+name, &verdict)(v)
				s.Evidence[name] = verdict
			}),
		})
	}
}

// engineSettings are the settings that the standard gates read, with the type
// of each: n for a number or null, b for true or false.
var engineSettings = map[string]byte{"eligible": 'b', "queue": 'n', "capacity": 'n', "deadline": 'n', "review_ttl": 'n'}

func (d *decoder) knownSetting(name string, n *node) {
	_, isNumber := n.value.(float64)
	_, isBool := n.value.(bool)
	switch engineSettings[name] {
	case 'n':
		if !isNumber && n.value != nil {
			d.report(n, "data_type", "", "setting %s must be a number or null", name)
		}
	case 'b':
		if !isBool {
			d.report(n, "data_type", "", "setting %s must be true or false", name)
		}
	}
}

func (d *decoder) pins(c *engine.Contract) func(*node) {
	return func(n *node) {
		d.object(n, "pins", fields{"trace": d.texts("pins.trace", &c.TracePins), "path": d.texts("pins.path", &c.PathPins)})
	}
}

// pinNames holds every pin that the contract speaks of against the pins it has.
func (d *decoder) pinNames(n *node, c *engine.Contract) {
	known := append(slices.Clone(c.TracePins), c.PathPins...)
	check := func(at *node, name string) {
		if !slices.Contains(known, name) {
			d.report(at, "data_unknown_pin", engine.DidYouMean(name, known), "the contract has no pin %q", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Start.Pins)) {
		check(n.at("start", "pins", name), name)
	}
	for section, rules := range map[string]map[string]engine.RecordRule{"evidence": c.Evidence, "context": c.Context} {
		for _, kind := range slices.Sorted(maps.Keys(rules)) {
			for _, name := range rules[kind].Pins {
				check(n.at(section, kind), name)
			}
		}
	}
	if c.Author != "" {
		check(n.at("author"), c.Author)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Start.Evidence)) {
		if _, ok := c.Evidence[name]; !ok {
			d.report(n.at("start", "evidence", name), "data_unknown_evidence", engine.DidYouMean(name, slices.Sorted(maps.Keys(c.Evidence))), "the contract has no evidence %q", name)
		}
	}
}

func (d *decoder) records(what string, into *map[string]engine.RecordRule) func(*node) {
	*into = map[string]engine.RecordRule{}
	return d.each(what, func(name string, _, n *node) {
		var r engine.RecordRule
		d.object(n, what+" "+name, fields{
			"ttl":     d.optionalWhole("ttl", 0, &r.TTL),
			"sources": d.texts("sources", &r.Sources),
			"pins":    d.texts("pins", &r.Pins),
			"fields": func(n *node) {
				d.texts("fields", &r.Required)(n)
				for _, f := range r.Required {
					if f != "source" && f != "expires" {
						d.report(n, "data_unknown_value", engine.DidYouMean(f, []string{"source", "expires"}), "fields may name source and expires, not %q", f)
					}
				}
			},
		})
		(*into)[name] = r
	})
}

func (d *decoder) components(c *engine.Contract) func(*node) {
	return func(n *node) {
		c.Components = map[string]engine.ComponentRule{}
		d.each("components", func(name string, _, n *node) {
			var r engine.ComponentRule
			d.object(n, "component "+name, fields{
				"tools": d.texts("tools", &r.Tools),
				"tasks": d.texts("tasks", &r.Tasks),
				"until": d.optionalWhole("until", 0, &r.Until),
			}, "tools")
			c.Components[name] = r
		})(n)
	}
}

func (d *decoder) highConsequence(c *engine.Contract) func(*node) {
	c.HighConsequence = map[string][]string{}
	return d.each("high_consequence", func(property string, key, n *node) {
		values, ok := engine.Properties()[property]
		if !ok {
			d.report(key, "data_unknown_key", engine.DidYouMean(property, slices.Sorted(maps.Keys(engine.Properties()))), "%q is no consequence property", property)
			return
		}
		var list []string
		d.texts(property, &list)(n)
		for _, v := range list {
			if !slices.Contains(values, v) {
				d.report(n, "data_unknown_value", engine.DidYouMean(v, values), "%s is never %q", property, v)
			}
		}
		c.HighConsequence[property] = list
	})
}

// families lists the gates whose row of transitions an own gate may take.
func families() []string { return append(engine.StandardGates(), engine.Structure, engine.CriticGate) }

func (d *decoder) gates(c *engine.Contract) func(*node) {
	return d.each("gates", func(name string, _, n *node) {
		var g engine.GateRule
		d.object(n, "gate "+name, fields{
			"scope":      d.text("scope", &g.Scope),
			"rationale":  d.text("rationale", &g.Rationale),
			"on_fail":    d.member("on_fail", &g.OnFail),
			"on_unknown": d.member("on_unknown", &g.OnUnknown),
			"family":     d.family(&g.Family),
			"tools":      d.texts("tools", &g.Tools),
		})
		if (name == engine.Bounds || name == engine.Supervision || name == engine.Resolved) && g.Scope != "" {
			d.report(n, "data_gate", "", "%s applies to every call, so it has no scope", name)
		}
		if slices.Contains(families(), name) && (n.at("on_fail") != nil || n.at("on_unknown") != nil || n.at("family") != nil || n.at("tools") != nil) {
			d.report(n, "data_gate", "", "what follows from the standard gate %s is fixed", name)
		}
		c.Gates[name] = g
	})
}

func (d *decoder) family(into *string) func(*node) { return d.oneOf("family", into, families()...) }

// priority reads the order of causes: every cause once.
func (d *decoder) priority(c *engine.Contract) func(*node) {
	return func(n *node) {
		var order []engine.Cause
		d.items("priority", func(_ int, n *node) {
			var cause engine.Cause
			d.member("priority", &cause)(n)
			if slices.Contains(order, cause) {
				d.report(n, "data_duplicate_item", "", "priority names %s twice", cause)
			}
			order = append(order, cause)
		})(n)
		for _, cause := range engine.Causes() {
			if !slices.Contains(order, cause) {
				d.report(n, "data_missing_key", "", "priority lacks the cause %s", cause)
			}
		}
		if slices.Contains(order, engine.NoCause) {
			d.report(n, "data_unknown_value", "", "priority names the cause none")
		}
		c.Priority = order
	}
}

func (d *decoder) bindings(what string, into *[]engine.Binding) func(*node) {
	return func(n *node) {
		*into = []engine.Binding{}
		d.items(what, func(_ int, n *node) {
			var b engine.Binding
			d.member(what, &b)(n)
			*into = append(*into, b)
		})(n)
	}
}

func (d *decoder) approval(a *engine.ApprovalRule) func(*node) {
	return func(n *node) {
		uses := "once"
		d.object(n, "approval", fields{
			"uses":      d.oneOf("approval.uses", &uses, "once", "many"),
			"voided_by": d.bindings("approval.voided_by", &a.VoidedBy),
		})
		a.Many = uses == "many"
	}
}

// rejection reads what voids a rejection: none, or pins.
func (d *decoder) rejection(c *engine.Contract) func(*node) {
	return func(n *node) {
		d.object(n, "rejection", fields{"voided_by": func(n *node) {
			if n.value == "none" {
				return
			}
			d.bindings("rejection.voided_by", &c.RejectionVoid)(n)
			if slices.ContainsFunc(c.RejectionVoid, func(b engine.Binding) bool { return b != engine.BindPins }) {
				d.report(n, "data_unknown_value", "", "rejection.voided_by must be none or [pins]")
			}
		}})
	}
}

func (d *decoder) counters(c *engine.Contract) func(*node) {
	c.Counters = map[string]engine.CounterRule{}
	return d.each("counters", func(name string, _, n *node) {
		var r engine.CounterRule
		d.object(n, "counter "+name, fields{
			"tools":  d.texts("tools", &r.Tools),
			"sum":    d.text("sum", &r.Sum),
			"by":     d.text("by", &r.By),
			"window": d.whole("window", 0, &r.Window),
		}, "tools")
		c.Counters[name] = r
	})
}

func (d *decoder) defaultAction(c *engine.Contract) func(*node) {
	return func(n *node) {
		text, err := json.Marshal(n.any())
		if err != nil {
			d.report(n, "data_type", "", "default_action: %v", err)
			return
		}
		a, err := action.Decode(text)
		if err != nil {
			d.report(n, "data_action", "", "default_action: %v", err)
			return
		}
		c.DefaultAction = &a
	}
}
