package metrics

import (
	"io"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// WritePrometheus writes the figures in Prometheus' text form: for each a gauge
// with its value, left out where there is no data, and one each with its counts.
func (r *Report) WritePrometheus(w io.Writer) error {
	var families []*dto.MetricFamily
	byName := map[string]*dto.MetricFamily{}
	add := func(name, help, class string, v float64) {
		f := byName[name]
		if f == nil {
			f = &dto.MetricFamily{Name: &name, Help: &help, Type: dto.MetricType_GAUGE.Enum()}
			byName[name] = f
			families = append(families, f)
		}
		m := &dto.Metric{Gauge: &dto.Gauge{Value: &v}}
		if class != "" {
			label := "class"
			m.Label = []*dto.LabelPair{{Name: &label, Value: &class}}
		}
		f.Metric = append(f.Metric, m)
	}
	for _, n := range r.All() {
		name := "conjunct_" + n.Name
		if n.Value != nil {
			add(name+suffix[n.Unit], n.Help, n.Class, *n.Value)
		}
		add(name+"_counted", "What is counted in "+name+".", n.Class, n.Count)
		add(name+"_of", "Of what it is counted in "+name+".", n.Class, n.Of)
	}
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(w, f); err != nil {
			return err
		}
	}
	return nil
}

// suffix names a unit as Prometheus users expect it.
var suffix = map[Unit]string{Share: "_ratio", Seconds: "_seconds"}
