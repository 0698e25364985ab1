package figure_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/bench/figure"
)

var (
	lines = figure.Lines{Title: "Title of lines", X: "across, %", Y: "up, %", MaxX: 10, MaxY: 100,
		Curves: []figure.Line{{Name: "first curve", Points: []figure.Point{{1, 90, 3}, {5, 40, 2}, {9, 10, 1}}}, {Name: "second curve", Points: []figure.Point{{1, 95, 0}, {9, 60, 0}}}},
		Marks:  []figure.Mark{{"a mark", 6, 80}}}
	bars = figure.Bars{Title: "Title of bars", Y: "count, of 20", Max: 20, Groups: []string{"one", "two"},
		Series: []figure.Series{{Name: "first arm", Values: []float64{0, 20}}, {Name: "second arm", Values: []float64{16, 5}}}}
)

func TestSVGHoldsEveryTextAndIsXML(t *testing.T) {
	for name, c := range map[string]struct {
		figure figure.Figure
		texts  []string
	}{
		"lines": {lines, []string{"Title of lines", "across, %", "up, %", "first curve", "second curve", "a mark"}},
		"bars":  {bars, []string{"Title of bars", "count, of 20", "first arm", "second arm", "one", "two"}},
	} {
		t.Run(name, func(t *testing.T) {
			var b, again bytes.Buffer
			if err := errors.Join(figure.WriteSVG(&b, c.figure), figure.WriteSVG(&again, c.figure)); err != nil {
				t.Fatal(err)
			}
			if b.String() != again.String() {
				t.Error("the same figure gave other bytes")
			}
			for _, s := range c.texts {
				if !strings.Contains(b.String(), ">"+s+"<") {
					t.Errorf("%q is not in the figure", s)
				}
			}
			if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
				t.Error("something in it has no place")
			}
			d := xml.NewDecoder(&b)
			for {
				if _, err := d.Token(); err == io.EOF {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestPNGIsSixteenHundredPixelsWide(t *testing.T) {
	for _, f := range []figure.Figure{lines, bars} {
		var b bytes.Buffer
		if err := figure.WritePNG(&b, f); err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		if w := img.Bounds().Dx(); w != 1600 {
			t.Errorf("%d pixels wide", w)
		}
	}
}
