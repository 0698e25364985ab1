package engine

import (
	"fmt"
	"iter"
	"slices"
)

// Consequence is what being wrong about a call would cost, who pays and how
// late anyone would notice. The zero value is the worst in every property.
type Consequence struct {
	Reversibility    Reversibility    `json:"reversibility"`
	BlastRadius      BlastRadius      `json:"blast_radius"`
	AbsorbedBy       AbsorbedBy       `json:"absorbed_by"`
	DetectionLatency DetectionLatency `json:"detection_latency"`
	Source           Source           `json:"source"`
}

// Properties lists the names of the four graded properties and the values of
// each, worst first.
func Properties() map[string][]string {
	return map[string][]string{
		"reversibility":     slices.Clone(reversibilityNames),
		"blast_radius":      slices.Clone(blastRadiusNames),
		"absorbed_by":       slices.Clone(absorbedByNames),
		"detection_latency": slices.Clone(detectionLatencyNames),
	}
}

// Sources lists the texts of Source.
func Sources() []string { return slices.Clone(sourceNames) }

// Classes yields all 3 x 4 x 4 x 4 combinations of the graded properties with
// the given source.
func Classes(s Source) iter.Seq[Consequence] {
	return func(yield func(Consequence) bool) {
		for r := range reversibilityNames {
			for b := range blastRadiusNames {
				for a := range absorbedByNames {
					for d := range detectionLatencyNames {
						c := Consequence{Reversibility(r), BlastRadius(b), AbsorbedBy(a), DetectionLatency(d), s}
						if !yield(c) {
							return
						}
					}
				}
			}
		}
	}
}

// Class is a dense number for the four graded properties, 0 (worst) to 191.
func (c Consequence) Class() int {
	return ((int(c.Reversibility)*len(blastRadiusNames)+int(c.BlastRadius))*len(absorbedByNames)+
		int(c.AbsorbedBy))*len(detectionLatencyNames) + int(c.DetectionLatency)
}

// NumClasses is the number of values Class has.
const NumClasses = 3 * 4 * 4 * 4

// Property returns the text of one property, by its name in the formats.
func (c Consequence) Property(name string) (string, bool) {
	switch name {
	case "reversibility":
		return c.Reversibility.String(), true
	case "blast_radius":
		return c.BlastRadius.String(), true
	case "absorbed_by":
		return c.AbsorbedBy.String(), true
	case "detection_latency":
		return c.DetectionLatency.String(), true
	case "source":
		return c.Source.String(), true
	}
	return "", false
}

// Document is the consequence as policies see it.
func (c Consequence) Document() map[string]any {
	return map[string]any{
		"reversibility":     c.Reversibility.String(),
		"blast_radius":      c.BlastRadius.String(),
		"absorbed_by":       c.AbsorbedBy.String(),
		"detection_latency": c.DetectionLatency.String(),
		"source":            c.Source.String(),
	}
}

// Raise is a policy's claim that one property of a consequence is at least as
// bad as a value.
type Raise struct {
	Property string
	Value    string
	// Cut is the code when the evaluation was cut short; replay imposes it under
	// RaiseGate.
	Cut    string
	Reason Reason
}

// RaiseGate is the name under which a raise stands in Input.Imposed.
func RaiseGate(property string) string { return "raise/" + property }

// Raised returns c with the raise applied. It never returns a milder
// consequence: a raise to a milder value changes nothing. An unreadable raise
// makes every property the worst, since nobody can say which one it meant.
func (c Consequence) Raised(r Raise) (_ Consequence, changed bool) {
	was := c
	err := error(nil)
	switch r.Property {
	case "reversibility":
		var v Reversibility
		err = v.UnmarshalText([]byte(r.Value))
		c.Reversibility = min(c.Reversibility, v)
	case "blast_radius":
		var v BlastRadius
		err = v.UnmarshalText([]byte(r.Value))
		c.BlastRadius = min(c.BlastRadius, v)
	case "absorbed_by":
		var v AbsorbedBy
		err = v.UnmarshalText([]byte(r.Value))
		c.AbsorbedBy = min(c.AbsorbedBy, v)
	case "detection_latency":
		var v DetectionLatency
		err = v.UnmarshalText([]byte(r.Value))
		c.DetectionLatency = min(c.DetectionLatency, v)
	default:
		err = fmt.Errorf("no consequence property %q", r.Property)
	}
	if err != nil {
		c = Consequence{Source: was.Source}
	}
	if c != was {
		c.Source = min(c.Source, FromPolicy)
	}
	return c, c != was
}
