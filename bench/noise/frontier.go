package noise

// sketch collects harm against load over replications, for every conjunction as
// its detectors' limit moves and for the tuned score as its threshold moves.
type sketch struct {
	names  []string
	points map[string][][2][]float64 // by rule: a point's loads and harms
}

// falsePositives are the detector rates at which a conjunction is drawn, and
// loads the shares held at which the score is drawn.
var (
	falsePositives = []float64{0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.18, 0.25}
	loads          = []float64{0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.10, 0.13, 0.17, 0.22, 0.28, 0.35}
)

const tunedName = "tuned score"

func newSketch() *sketch {
	s := &sketch{points: map[string][][2][]float64{}}
	for need := 1; need <= PerKind; need++ {
		s.names = append(s.names, conjunctionName(need))
		s.points[conjunctionName(need)] = make([][2][]float64, len(falsePositives))
	}
	s.names = append(s.names, tunedName)
	s.points[tunedName] = make([][2][]float64, len(loads))
	return s
}

// add measures one replication.
func (k *sketch) add(s Scenario, score linear, half, test []proposal) {
	note := func(name string, i int, r rule) {
		v := s.measure(r, test)
		p := &k.points[name][i]
		p[0], p[1] = append(p[0], v[2]), append(p[1], v[0])
	}
	for i, rate := range falsePositives {
		for need := 1; need <= PerKind; need++ {
			note(conjunctionName(need), i, conjunction{need, limit(rate)})
		}
	}
	sums := score.sums(half)
	for i, share := range loads {
		note(tunedName, i, score.atLoad(sums, share))
	}
}

func (k *sketch) frontiers() []Frontier {
	var out []Frontier
	for _, name := range k.names {
		f := Frontier{Rule: name}
		for _, p := range k.points[name] {
			f.Points = append(f.Points, Point{figure(p[0]), figure(p[1])})
		}
		out = append(out, f)
	}
	return out
}
