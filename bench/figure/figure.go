// Package figure draws line and bar charts as SVG and PNG. It is the only
// importer of gonum's plot, and knows nothing of what is drawn.
package figure

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A figure is eight inches wide: a PNG of 1600 pixels, which is to be readable
// at half of that.
const (
	width   = 8 * vg.Inch
	height  = 4.8 * vg.Inch
	perInch = 200
	// aside is the column of the legend, right of the axes, so that it covers
	// nothing.
	aside = 2.35 * vg.Inch
)

// Line is a named curve.
type Line struct {
	Name   string
	Points []Point
}

// Point is one place; Half is the half width of an interval of Y, or 0.
type Point struct{ X, Y, Half float64 }

// Mark is a place to point at.
type Mark struct {
	Name string
	X, Y float64
}

// Lines is a chart of curves. The axes begin at zero and end at MaxX and MaxY.
type Lines struct {
	Title, X, Y string
	Curves      []Line
	Marks       []Mark
	MaxX, MaxY  float64
	// Steps draws what holds up to a point and not between two.
	Steps bool
}

// Bars is a chart of groups of bars side by side. The axis of values begins at
// zero and ends at Max.
type Bars struct {
	Title, Y string
	Groups   []string
	Series   []Series
	Max      float64
}

// Series is one bar in each group.
type Series struct {
	Name   string
	Values []float64
}

// Figure is a chart that can be written.
type Figure interface {
	plot() (*plot.Plot, plot.Legend, error)
}

// palette is colours that are told apart without red and green.
var palette = []color.Color{
	color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff},
	color.RGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff},
	color.RGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff},
	color.RGBA{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff},
	color.RGBA{R: 0x56, G: 0x56, B: 0x56, A: 0xff},
}

var dashes = [][]vg.Length{nil, {vg.Points(8), vg.Points(3)}, {vg.Points(2), vg.Points(2)}, {vg.Points(8), vg.Points(3), vg.Points(2), vg.Points(3)}}

var glyphs = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{}}

func sans(size vg.Length) font.Font {
	return font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size)
}

// frame is an empty chart with its texts and a grid.
func frame(title, x, y string) (*plot.Plot, plot.Legend) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = vg.Points(8)
	for _, s := range []struct {
		style *text.Style
		size  vg.Length
	}{{&p.Title.TextStyle, 13}, {&p.X.Label.TextStyle, 12}, {&p.Y.Label.TextStyle, 12}, {&p.X.Tick.Label, 11}, {&p.Y.Tick.Label, 11}} {
		s.style.Font = sans(s.size)
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{0xdd}, color.Gray{0xdd}
	p.Add(grid)
	l := plot.NewLegend()
	l.TextStyle.Font = sans(11)
	l.Left, l.Top = true, true
	l.Padding = vg.Points(4)
	return p, l
}

func (c Lines) plot() (*plot.Plot, plot.Legend, error) {
	p, legend := frame(c.Title, c.X, c.Y)
	for i, line := range c.Curves {
		if err := c.curve(p, &legend, i, line); err != nil {
			return nil, legend, fmt.Errorf("figure: %s: %w", line.Name, err)
		}
	}
	for _, m := range c.Marks {
		s, err := plotter.NewScatter(plotter.XYs{{X: m.X, Y: m.Y}})
		if err != nil {
			return nil, legend, fmt.Errorf("figure: %s: %w", m.Name, err)
		}
		s.Shape, s.Radius, s.Color = draw.CrossGlyph{}, vg.Points(7), color.Black
		p.Add(s)
		legend.Add(m.Name, s)
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, c.MaxX, 0, c.MaxY
	p.X.Tick.Marker, p.Y.Tick.Marker = tenths(c.MaxX), tenths(c.MaxY)
	return p, legend, nil
}

// curve adds one line with its points and, where there are any, its intervals.
func (c Lines) curve(p *plot.Plot, legend *plot.Legend, i int, line Line) error {
	at := struct {
		plotter.XYs
		plotter.YErrors
	}{make(plotter.XYs, len(line.Points)), make(plotter.YErrors, len(line.Points))}
	some := false
	for k, point := range line.Points {
		at.XYs[k].X, at.XYs[k].Y = point.X, point.Y
		at.YErrors[k].Low, at.YErrors[k].High = min(point.Half, point.Y), point.Half
		some = some || point.Half > 0
	}
	l, dots, err := plotter.NewLinePoints(at.XYs)
	if err != nil {
		return err
	}
	l.Color, l.Width, l.Dashes = palette[i%len(palette)], vg.Points(2), dashes[i%len(dashes)]
	dots.Color, dots.Shape, dots.Radius = l.Color, glyphs[i%len(glyphs)], vg.Points(3)
	if c.Steps {
		l.StepStyle = plotter.PreStep
	}
	p.Add(l, dots)
	legend.Add(line.Name, l, dots)
	if !some {
		return nil
	}
	bars, err := plotter.NewYErrorBars(at)
	if err != nil {
		return err
	}
	bars.Color, bars.Width, bars.CapWidth = l.Color, vg.Points(1), vg.Points(4)
	p.Add(bars)
	return nil
}

// tenths labels an axis from zero at every second tenth of the largest round
// number on it, and marks those between.
func tenths(end float64) plot.ConstantTicks {
	unit := math.Pow(10, math.Floor(math.Log10(end))-1)
	for _, n := range []float64{1, 2, 5, 10} {
		if end/(n*unit) <= 11 {
			unit *= n
			break
		}
	}
	var out plot.ConstantTicks
	for i := 0; float64(i)*unit <= end*1.0001; i++ {
		tick := plot.Tick{Value: float64(i) * unit}
		if i%2 == 0 {
			tick.Label = strconv.FormatFloat(math.Round(float64(i)*unit*1e6)/1e6, 'g', -1, 64)
		}
		out = append(out, tick)
	}
	return out
}

func (c Bars) plot() (*plot.Plot, plot.Legend, error) {
	p, legend := frame(c.Title, "", c.Y)
	each := (width - aside - 1.1*vg.Inch) / vg.Length(len(c.Groups)) * 0.8 / vg.Length(len(c.Series))
	for i, s := range c.Series {
		b, err := plotter.NewBarChart(plotter.Values(s.Values), each)
		if err != nil {
			return nil, legend, fmt.Errorf("figure: %s: %w", s.Name, err)
		}
		b.Color, b.LineStyle.Width = palette[i%len(palette)], vg.Length(0)
		b.Offset = each * (vg.Length(i) - vg.Length(len(c.Series)-1)/2)
		over, err := c.labels(s, b.Offset)
		if err != nil {
			return nil, legend, fmt.Errorf("figure: %s: %w", s.Name, err)
		}
		p.Add(b, over)
		legend.Add(s.Name, b)
	}
	p.NominalX(c.Groups...)
	p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = 0.5, draw.XRight, draw.YCenter
	p.Y.Min, p.Y.Max, p.Y.Tick.Marker = 0, c.Max, tenths(c.Max)
	return p, legend, nil
}

// labels are the values over the bars of a series, also where there is no bar to
// see.
func (c Bars) labels(s Series, offset vg.Length) (*plotter.Labels, error) {
	at := plotter.XYLabels{XYs: make(plotter.XYs, len(s.Values)), Labels: make([]string, len(s.Values))}
	for i, v := range s.Values {
		at.XYs[i].X, at.XYs[i].Y = float64(i), v
		at.Labels[i] = strconv.FormatFloat(math.Round(v*100)/100, 'g', -1, 64)
	}
	l, err := plotter.NewLabels(at)
	if err != nil {
		return nil, err
	}
	l.Offset = vg.Point{X: offset, Y: vg.Points(2)}
	for i := range l.TextStyle {
		l.TextStyle[i].Font, l.TextStyle[i].XAlign = sans(9), draw.XCenter
	}
	return l, nil
}

// render draws the chart and, beside it, its legend.
func render(f Figure, canvas vg.CanvasSizer) error {
	p, legend, err := f.plot()
	if err != nil {
		return err
	}
	page := draw.New(canvas)
	page.SetColor(color.White)
	page.Fill(page.Rectangle.Path())
	p.Draw(draw.Crop(page, vg.Points(6), -aside, vg.Points(6), -vg.Points(6)))
	legend.Draw(draw.Crop(page, width-aside+vg.Points(8), -vg.Points(4), 0, -vg.Points(34)))
	return nil
}

// WriteSVG draws a figure as SVG.
func WriteSVG(w io.Writer, f Figure) error {
	c := vgsvg.New(width, height)
	if err := render(f, c); err != nil {
		return err
	}
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	// Where the font is not there, Arial has the same widths.
	_, err := w.Write(bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")))
	return err
}

// WritePNG draws a figure as PNG, 1600 pixels wide.
func WritePNG(w io.Writer, f Figure) error {
	c := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(perInch))}
	if err := render(f, c); err != nil {
		return err
	}
	_, err := c.WriteTo(w)
	return err
}
