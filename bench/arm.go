package bench

import (
	"context"
	"fmt"
)

// Arm is one way of deciding: it answers a case. What is expected of the case
// is no part of what an arm gets.
type Arm[C, A any] interface {
	Answer(context.Context, C) (A, error)
}

// Named is an arm with the name under which it is reported.
type Named[C, A any] struct {
	Name string
	Arm  Arm[C, A]
}

// pair has every case answered by every arm: answers[arm][case].
func pair[C, A any](ctx context.Context, arms []Named[C, A], cases []C, step func()) ([][]A, error) {
	answers := make([][]A, len(arms))
	for i := range arms {
		answers[i] = make([]A, len(cases))
	}
	for k, c := range cases {
		for i, arm := range arms {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			answer, err := arm.Arm.Answer(ctx, c)
			if err != nil {
				return nil, fmt.Errorf("bench: arm %s: %w", arm.Name, err)
			}
			answers[i][k] = answer
		}
		if step != nil {
			step()
		}
	}
	return answers, nil
}

// Share is a count of something that has a total.
type Share struct {
	Count int `json:"count"`
	Of    int `json:"of"`
}

// add counts one more, which is one of what is counted or not.
func (s *Share) add(counted bool) {
	s.Of++
	if counted {
		s.Count++
	}
}

// plus adds another share.
func (s *Share) plus(other Share) { s.Count, s.Of = s.Count+other.Count, s.Of+other.Of }

// Fraction is the share as a number, and false where there is nothing to divide.
func (s Share) Fraction() (float64, bool) {
	if s.Of == 0 {
		return 0, false
	}
	return float64(s.Count) / float64(s.Of), true
}

func (s Share) String() string { return fmt.Sprintf("%d/%d", s.Count, s.Of) }
