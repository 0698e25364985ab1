package table_test

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/bench/table"
)

var sample = table.Table{Title: "What & why", Head: []string{"arm", "count"},
	Rows: [][]string{{"a <b>, \"c\"", "3"}, {"long", "12"}}, Notes: []string{"Constructed."}}

func write(t *testing.T, format string) string {
	t.Helper()
	var b strings.Builder
	if err := sample.Write(&b, format); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFormats(t *testing.T) {
	for _, c := range []struct{ format, want string }{
		{"pretty", "What & why\n arm         count\n───────────────────\n a <b>, \"c\"      3\n long           12\nConstructed.\n"},
		{"markdown", "### What & why\n\n| arm | count |\n|:--- | ---:|\n| a <b>, \"c\" | 3 |\n| long | 12 |\n\nConstructed.\n"},
	} {
		if got := write(t, c.format); got != c.want {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", c.format, got, c.want)
		}
	}
	html := write(t, "html")
	if strings.Contains(html, "<b>") || !strings.Contains(html, "a &lt;b&gt;") || !strings.Contains(html, `<td class="n">3</td>`) {
		t.Errorf("html: %s", html)
	}
}

func TestCSVReadsBack(t *testing.T) {
	got, err := csv.NewReader(strings.NewReader(write(t, "csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := append([][]string{sample.Head}, sample.Rows...)
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestUnknownFormatIsAnError(t *testing.T) {
	if err := sample.Write(&strings.Builder{}, "xml"); err == nil {
		t.Error("xml was written")
	}
}
