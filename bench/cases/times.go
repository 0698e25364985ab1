package cases

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// span is a stretch of time as a case tells it.
type span struct {
	TZ       string
	Timezone string
	Zone     string
	From, To string
	Days     several
}

// freeze is one or several stretches of local time in which nothing may be done.
func (s *setup) freeze(raw json.RawMessage) error { return s.during(raw, "freeze") }

// openOnly is one or several outside of which nothing may be done.
func (s *setup) openOnly(raw json.RawMessage) error { return s.during(raw, "window") }

func (s *setup) during(raw json.RawMessage, key string) error {
	all := []json.RawMessage{raw}
	if jsonType(raw) == "array" {
		if err := json.Unmarshal(raw, &all); err != nil {
			return err
		}
	}
	windows, _ := s.scope["windows"].(map[string]any)
	if windows == nil {
		windows = map[string]any{}
		s.scope["windows"] = windows
	}
	var inside []string
	for i, one := range all {
		var w span
		if err := strictly(one, &w); err != nil {
			return &unsupported{key + ": " + err.Error()}
		}
		weekly, between, err := w.parts(fmt.Sprintf("%s_%d", key, i+1))
		if err != nil {
			return err
		}
		maps.Copy(windows, weekly)
		for _, name := range slices.Sorted(maps.Keys(weekly)) {
			inside = append(inside, fmt.Sprintf("facts.time.windows.%s == true", name))
		}
		inside = append(inside, between...)
	}
	g := celGate{Name: "freeze", Expression: "!(" + strings.Join(inside, " || ") + ")", Message: "the freeze is on", OnFail: "block"}
	if key == "window" {
		g = celGate{Name: "window", Expression: strings.Join(inside, " || "), Message: "the window is closed", OnFail: "block"}
	}
	if len(inside) > 0 {
		s.gates = append(s.gates, g)
	} else if key == "window" {
		return &unsupported{"a window that says nothing"}
	}
	return nil
}

// parts are the weekly windows of a span by name, or what holds between its two
// instants.
func (w span) parts(name string) (weekly map[string]any, between []string, err error) {
	zone := w.TZ + w.Timezone + w.Zone
	from, errFrom := time.Parse(time.RFC3339, w.From)
	to, errTo := time.Parse(time.RFC3339, w.To)
	switch {
	case errFrom == nil && errTo == nil && len(w.Days) == 0:
		return nil, []string{fmt.Sprintf("(now >= %d && now < %d)", from.Unix(), to.Unix())}, nil
	case dated.MatchString(w.From) || dated.MatchString(w.To):
		return nil, nil, &unsupported{fmt.Sprintf("a stretch from %q to %q", w.From, w.To)}
	}
	weekly = map[string]any{}
	if !clock.MatchString(w.From) || !clock.MatchString(w.To) {
		if len(w.Days) > 0 {
			return nil, nil, &unsupported{"days beside days"}
		}
		weekly[name] = map[string]any{"zone": zone, "from": weekday(w.From), "to": weekday(w.To)}
		return weekly, nil, nil
	}
	days := []string(w.Days)
	if len(days) == 0 {
		days = dayNames
	}
	for i, day := range days {
		end := day
		if at := slices.Index(dayNames, weekday(day)); w.To <= w.From && at >= 0 {
			// Over midnight.
			end = dayNames[(at+1)%7]
		}
		weekly[fmt.Sprintf("%s_%d", name, i+1)] = map[string]any{"zone": zone, "from": weekday(day + " " + w.From), "to": weekday(end + " " + w.To)}
	}
	return weekly, nil, nil
}

var (
	dayNames = []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}
	longDays = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
	dated    = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}`)
	clock    = regexp.MustCompile(`^\d{2}:\d{2}$`)
	seconds  = regexp.MustCompile(`( \d{2}:\d{2}):00$`)
)

// weekday is a day and a time as scopes write them, where it is one in longer words.
// Anything else is left as it is, and no scope takes it.
func weekday(said string) string {
	said = seconds.ReplaceAllString(said, "$1")
	day, rest, _ := strings.Cut(said, " ")
	for i, name := range dayNames {
		if lower := strings.ToLower(day); lower == strings.ToLower(name) || lower == longDays[i] {
			return strings.TrimSpace(name + " " + rest)
		}
	}
	return said
}
