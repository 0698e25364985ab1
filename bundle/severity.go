package bundle

import (
	"maps"
	"slices"

	"github.com/conjunct-project/conjunct/engine"
)

// severity is what the engine reads of conjunct/severity/data.yaml: by how much
// a modifier tightens and where it stops. The table itself is read by the rule.
type severity struct {
	bump int64
	cap  engine.Tier
}

func (d *decoder) severity(n *node) severity {
	s := severity{bump: 1, cap: engine.Propose}
	if n == nil {
		return s
	}
	d.object(n, "severity", fields{
		"bump": d.whole("bump", 0, &s.bump),
		"cap": func(n *node) {
			d.member("cap", &s.cap)(n)
			if s.cap == engine.Refuse {
				d.report(n, "data_range", "", "cap must not be refuse: refuse is reachable only through a floor")
			}
		},
		"table": func(table *node) { d.table(table) },
	})
	if t := n.at("table"); t != nil {
		d.cells(t, s.cap)
	}
	return s
}

// table checks that the rows and columns are the enumerations, each once.
func (d *decoder) table(n *node) {
	radii, grades := engine.Properties()["blast_radius"], engine.Properties()["reversibility"]
	rows := fields{}
	for _, radius := range radii {
		rows[radius] = func(row *node) {
			columns := fields{}
			for _, grade := range grades {
				var t engine.Tier
				columns[grade] = d.member("table."+radius+"."+grade, &t)
			}
			d.object(row, "table."+radius, columns, grades...)
		}
	}
	d.object(n, "table", rows, radii...)
}

// cells checks each tier: never refuse, never beyond the cap.
func (d *decoder) cells(table *node, limit engine.Tier) {
	for _, radius := range slices.Sorted(maps.Keys(table.fields)) {
		row := table.fields[radius]
		for _, grade := range slices.Sorted(maps.Keys(row.fields)) {
			var t engine.Tier
			text, _ := row.fields[grade].value.(string)
			if t.UnmarshalText([]byte(text)) != nil {
				continue
			}
			switch {
			case t == engine.Refuse:
				d.report(row.fields[grade], "data_range", "write a floor instead", "a cell must not be refuse")
			case t.StricterThan(limit):
				d.report(row.fields[grade], "data_range", "", "the tier %s is beyond the cap %s", t, limit)
			}
		}
	}
}
