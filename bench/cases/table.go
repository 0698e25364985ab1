package cases

import (
	"maps"
	"slices"
	"strconv"

	"github.com/conjunct-project/conjunct/bench/table"
)

// Tables is the report for people: the counts by kind, and what did not come out
// as expected.
func (r *Report) Tables() []table.Table {
	kinds := table.Table{Title: "Cases by kind", Head: []string{"kind", "cases", "hit", "miss", "softer", "stricter", "over-block", "unsupported"}}
	for _, k := range slices.Sorted(maps.Keys(r.Kinds)) {
		kinds.Rows = append(kinds.Rows, r.Kinds[k].row(k))
	}
	kinds.Rows = append(kinds.Rows, r.Tally.row("all"))
	rest := table.Table{Title: "Not a hit", Head: []string{"case", "expected", "got", "result", "why"}}
	for _, c := range r.Cases {
		if c.Result != Hit {
			rest.Rows = append(rest.Rows, []string{c.ID, string(c.Expected), string(c.Got), string(c.Result), c.Why})
		}
	}
	if len(rest.Rows) == 0 {
		return []table.Table{kinds}
	}
	return []table.Table{kinds, rest}
}

// Records is every case.
func (r *Report) Records() table.Table {
	t := table.Table{Head: []string{"case", "kind", "expected", "got", "result", "why"}}
	for _, c := range r.Cases {
		t.Rows = append(t.Rows, []string{c.ID, c.Kind, string(c.Expected), string(c.Got), string(c.Result), c.Why})
	}
	return t
}

func (t *Tally) row(name string) []string {
	row := []string{name}
	for _, n := range []int{t.Total, t.Hit, t.Miss, t.Softer, t.Stricter, t.OverBlock, t.Unsupported} {
		row = append(row, strconv.Itoa(n))
	}
	return row
}
