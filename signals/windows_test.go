package signals

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func inWindow(t *testing.T, w Window, now string) bool {
	t.Helper()
	at, err := time.Parse(time.RFC3339, now)
	if err != nil {
		t.Fatal(err)
	}
	c := &Call{Now: at.Unix()} // no tool is needed to know the time
	got, unknown := facts(t, Time, Scope{Windows: map[string]Window{"w": w}}, c, World{})
	canonicalises(t, got)
	inside, ok := got["windows"].(map[string]any)["w"].(bool)
	if !ok || len(unknown) > 0 {
		t.Fatalf("got %v %v", got, unknown)
	}
	return inside
}

func TestWindows(t *testing.T) {
	weekend := Window{"Europe/Berlin", "Fri 16:00", "Mon 07:00"}
	for _, c := range []struct {
		name   string
		window Window
		now    string
		want   bool
	}{
		{"in summer, at the beginning", weekend, "2026-07-10T14:00:00Z", true},
		{"in summer, a second before", weekend, "2026-07-10T13:59:59Z", false},
		{"in winter, at the beginning", weekend, "2026-01-09T15:00:00Z", true},
		{"in winter, a second before", weekend, "2026-01-09T14:59:59Z", false},
		{"a second before the end", weekend, "2026-07-13T04:59:59Z", true},
		{"at the end", weekend, "2026-07-13T05:00:00Z", false},
		{"sunday night", weekend, "2026-07-12T22:30:00Z", true},
		{"in the week", weekend, "2026-07-15T12:00:00Z", false},
		{"local day is another than UTC's", Window{"Pacific/Auckland", "Mon 00:00", "Mon 06:00"}, "2026-07-12T13:00:00Z", true},
		{"half an hour off", Window{"Asia/Kolkata", "Tue 09:00", "Tue 10:00"}, "2026-07-14T03:30:00Z", true},
		{"over the hour that is not", Window{"America/New_York", "Sun 01:30", "Sun 03:30"}, "2026-03-08T07:15:00Z", true},
		{"before the hour that is not", Window{"America/New_York", "Sun 01:30", "Sun 03:30"}, "2026-03-08T06:29:59Z", false},
		{"inside the hour that is not", Window{"America/New_York", "Sun 02:00", "Sun 03:00"}, "2026-03-08T07:00:00Z", false},
		{"the hour that is twice, first", Window{"America/New_York", "Sun 01:00", "Sun 02:00"}, "2026-11-01T05:30:00Z", true},
		{"the hour that is twice, again", Window{"America/New_York", "Sun 01:00", "Sun 02:00"}, "2026-11-01T06:30:00Z", true},
		{"after the hour that is twice", Window{"America/New_York", "Sun 01:00", "Sun 02:00"}, "2026-11-01T07:00:00Z", false},
		{"to the end of a day", Window{"UTC", "Sun 12:00", "Sun 24:00"}, "2026-07-12T23:59:59Z", true},
		{"behind the end of a day", Window{"UTC", "Sun 12:00", "Sun 24:00"}, "2026-07-13T00:00:00Z", false},
		{"before 1970", weekend, "1969-07-20T20:17:00Z", true},
	} {
		if got := inWindow(t, c.window, c.now); got != c.want {
			t.Errorf("%s: %s in %v: got %v, want %v", c.name, c.now, c.window, got, c.want)
		}
	}
}

// TestWindowsOracle holds windows to what the local clock says as text.
func TestWindowsOracle(t *testing.T) {
	order := strings.NewReplacer("Mon", "1", "Tue", "2", "Wed", "3", "Thu", "4", "Fri", "5", "Sat", "6", "Sun", "7")
	zones := []string{"UTC", "Europe/Oslo", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia", "America/Sao_Paulo"}
	rapid.Check(t, func(r *rapid.T) {
		moment := func(name string) string {
			return fmt.Sprintf("%s %02d:%02d", rapid.SampledFrom(days).Draw(r, name), rapid.IntRange(0, 23).Draw(r, name), rapid.IntRange(0, 59).Draw(r, name))
		}
		w := Window{rapid.SampledFrom(zones).Draw(r, "zone"), moment("from"), moment("to")}
		if w.From == w.To {
			return
		}
		now := time.Unix(rapid.Int64Range(0, 4e9).Draw(r, "now"), 0).UTC()
		loc, _ := time.LoadLocation(w.Zone)
		local, from, to := order.Replace(now.In(loc).Format("Mon 15:04")), order.Replace(w.From), order.Replace(w.To)
		want := from <= local && local < to
		if to < from {
			want = from <= local || local < to
		}
		if got := inWindow(t, w, now.Format(time.RFC3339)); got != want {
			r.Errorf("%v in %v: got %v, want %v", now, w, got, want)
		}
	})
}

func TestScopeProblems(t *testing.T) {
	for _, c := range []struct {
		scope Scope
		want  string
	}{
		{Scope{Windows: map[string]Window{"w": {"", "Fri 16:00", "Mon 07:00"}}}, "windows.w.zone"},
		{Scope{Windows: map[string]Window{"w": {"Local", "Fri 16:00", "Mon 07:00"}}}, "windows.w.zone"},
		{Scope{Windows: map[string]Window{"w": {"Europe/Olso", "Fri 16:00", "Mon 07:00"}}}, "windows.w.zone"},
		{Scope{Windows: map[string]Window{"w": {"../etc/passwd", "Fri 16:00", "Mon 07:00"}}}, "windows.w.zone"},
		{Scope{Windows: map[string]Window{"w": {"UTC", "Friday 16:00", "Mon 07:00"}}}, "windows.w.from"},
		{Scope{Windows: map[string]Window{"w": {"UTC", "fri 16:00", "Mon 7:00"}}}, "windows.w.from windows.w.to"},
		{Scope{Windows: map[string]Window{"w": {"UTC", "Fri 24:01", "Mon 07:60"}}}, "windows.w.from windows.w.to"},
		{Scope{Windows: map[string]Window{"w": {"UTC", "Fri +1:00", "Mon -7:00"}}}, "windows.w.from windows.w.to"},
		{Scope{Windows: map[string]Window{"w": {"UTC", "", "Mon 07:00 "}}}, "windows.w.from windows.w.to"},
		{Scope{Windows: map[string]Window{"w": {"UTC", "Fri 16:00", "Fri 16:00"}}}, "windows.w.to"},
		{Scope{Windows: map[string]Window{"b": {"UTC", "x", "Mon 07:00"}, "a": {"x", "Fri 16:00", "Mon 07:00"}}}, "windows.a.zone windows.b.from"},
		{Scope{Tests: TestScope{Collect: []string{"test_*.py", "[a"}, Ignore: []string{""}}}, "tests.collect.1 tests.ignore.0"},
		{Scope{Windows: map[string]Window{"w": {"UTC", "Fri 16:00", "Mon 07:00"}}, Tests: TestScope{Collect: []string{"**/*_test.go"}}}, ""},
	} {
		_, problems := New(c.scope, []Family{Time, Tests})
		var places []string
		for _, p := range problems {
			places = append(places, strings.Join(p.Path, "."))
		}
		if got := strings.Join(places, " "); got != c.want {
			t.Errorf("%v: got %q, want %q", c.scope, got, c.want)
		}
	}
}
