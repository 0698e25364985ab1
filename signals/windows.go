package signals

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones also where a machine has none
)

const (
	day  = 24 * 60 * 60
	week = 7 * day
)

// window is a weekly span of local time: seconds since Monday 00:00 as a clock on
// the wall there shows them, so that a change to or from summer time needs no
// care. An hour that occurs twice is inside both times or neither; one that does
// not exist is never.
type window struct {
	zone     *time.Location
	from, to int
}

// covers reports whether local time is in the window: from inclusive, to
// exclusive. A window that ends before it begins goes over Sunday night.
func (w window) covers(now time.Time) bool {
	local := now.In(w.zone)
	t := (int(local.Weekday())+6)%7*day + local.Hour()*60*60 + local.Minute()*60 + local.Second()
	if w.from < w.to {
		return w.from <= t && t < w.to
	}
	return w.from <= t || t < w.to
}

// timeFacts says which windows the decision's time is in. The time itself is no
// fact: what is pinned to facts would die every second.
func timeFacts(d *Detector, _ context.Context, c *Call, _ World) (map[string]any, []Unknown) {
	now := time.Unix(c.Now, 0)
	inside := map[string]any{}
	for name, w := range d.windows {
		inside[name] = w.covers(now)
	}
	return map[string]any{"windows": inside}, nil
}

// windows reads the windows of a scope.
func windows(scope map[string]Window) (ws map[string]window, problems []ScopeProblem) {
	ws = map[string]window{}
	for _, name := range slices.Sorted(maps.Keys(scope)) {
		s := scope[name]
		report := func(field, hint string, err error) {
			if err != nil {
				problems = append(problems, ScopeProblem{Path: []string{"windows", name, field}, Message: err.Error(), Hint: hint})
			}
		}
		zone, err := zone(s.Zone)
		report("zone", `a name of the tz database, such as "Europe/Oslo" or "UTC"`, err)
		from, err := weekTime(s.From)
		report("from", `a day and a time, such as "Fri 16:00"`, err)
		to, err := weekTime(s.To)
		report("to", `a day and a time, such as "Mon 07:00"`, err)
		if err == nil && from == to%week {
			report("to", "leave the window out, or say when it ends", fmt.Errorf("the window ends when it begins"))
		}
		ws[name] = window{zone: zone, from: from, to: to}
	}
	return ws, problems
}

// zone loads a zone by name. The machine's own zone has no name that means the
// same elsewhere.
func zone(name string) (*time.Location, error) {
	if name == "" || strings.EqualFold(name, "local") {
		return nil, fmt.Errorf("%q names no time zone", name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%q names no time zone", name)
	}
	return loc, nil
}

var days = []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}

// weekTime reads "Fri 16:00" as seconds since Monday 00:00. 24:00 is the end of a
// day.
func weekTime(s string) (int, error) {
	bad := fmt.Errorf("%q is no day and time", s)
	name, clock, ok := strings.Cut(s, " ")
	n := slices.Index(days, name)
	if !ok || n < 0 || len(clock) != len("16:00") || clock[2] != ':' {
		return 0, bad
	}
	hour, err1 := strconv.ParseUint(clock[:2], 10, 8)
	minute, err2 := strconv.ParseUint(clock[3:], 10, 8)
	if err1 != nil || err2 != nil || minute > 59 || hour > 24 || hour == 24 && minute > 0 {
		return 0, bad
	}
	return n*day + int(hour)*60*60 + int(minute)*60, nil
}
