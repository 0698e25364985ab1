package bundle

import (
	"maps"
	"slices"

	"github.com/conjunct-project/conjunct/datafile"
	"github.com/conjunct-project/conjunct/engine"
)

// severity is what the engine reads of conjunct/severity/data.yaml: by how much
// a modifier tightens and where it stops. The table itself is read by the rule.
type severity struct {
	bump int64
	cap  engine.Tier
}

func (d *decoder) severity(n *datafile.Node) severity {
	s := severity{bump: 1, cap: engine.Propose}
	if n == nil {
		return s
	}
	d.Object(n, "severity", datafile.Fields{
		"bump": d.Whole("bump", 0, &s.bump),
		"cap": func(n *datafile.Node) {
			before := len(d.Problems)
			d.Member("cap", &s.cap)(n)
			if s.cap == engine.Refuse && len(d.Problems) == before {
				d.Report(n, "data_range", "", "cap must not be refuse: refuse is reachable only through a floor")
			}
		},
		"table": func(table *datafile.Node) { d.table(table) },
	})
	if t := n.At("table"); t != nil {
		d.cells(t, s.cap)
	}
	return s
}

// table checks that the rows and columns are the enumerations, each once.
func (d *decoder) table(n *datafile.Node) {
	radii, grades := engine.Properties()["blast_radius"], engine.Properties()["reversibility"]
	rows := datafile.Fields{}
	for _, radius := range radii {
		rows[radius] = func(row *datafile.Node) {
			columns := datafile.Fields{}
			for _, grade := range grades {
				var t engine.Tier
				columns[grade] = d.Member("table."+radius+"."+grade, &t)
			}
			d.Object(row, "table."+radius, columns, grades...)
		}
	}
	d.Object(n, "table", rows, radii...)
}

// cells checks each tier: never refuse, never beyond the cap.
func (d *decoder) cells(table *datafile.Node, limit engine.Tier) {
	for _, radius := range slices.Sorted(maps.Keys(table.Fields)) {
		row := table.Fields[radius]
		for _, grade := range slices.Sorted(maps.Keys(row.Fields)) {
			var t engine.Tier
			text, _ := row.Fields[grade].Value.(string)
			if t.UnmarshalText([]byte(text)) != nil {
				continue
			}
			switch {
			case t == engine.Refuse:
				d.Report(row.Fields[grade], "data_range", "write a floor instead", "a cell must not be refuse")
			case t.StricterThan(limit):
				d.Report(row.Fields[grade], "data_range", "", "the tier %s is beyond the cap %s", t, limit)
			}
		}
	}
}
