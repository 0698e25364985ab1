package noise

import "slices"

// Reviewers is the queue that what is held goes to: first come, first served.
type Reviewers struct {
	PerHour  float64 `json:"per_hour"` // proposals that arrive, held or not
	Servers  int     `json:"servers"`  // reviews that go on at once
	Minutes  float64 `json:"minutes"`  // mean length of a review, exponential
	Room     int     `json:"room"`     // requests that may wait; another is deferred
	Patience float64 `json:"patience"` // minutes after which a waiting request lapses
	// Misses is how often a reviewer approves a harmful proposal, Spurious how
	// often a harmless one is rejected.
	Misses   float64 `json:"misses"`
	Spurious float64 `json:"spurious"`
}

// request is what the queue is asked: when, and how long the review will take.
type request struct{ at, service float64 }

// answer is what became of a request. The zero value was deferred.
type answer struct {
	reviewed bool
	delay    float64 // minutes from the request to the end of the review
}

// serve runs the queue over requests in the order of their times. A request
// that finds no room, or whose turn does not come in time, is deferred: nobody
// looks at it.
func (r Reviewers) serve(requests []request) []answer {
	out := make([]answer, len(requests))
	free := make([]float64, r.Servers) // when each reviewer is free next
	var leaves []float64               // when each waiting request leaves the room, in order of arrival
	for i, q := range requests {
		leaves = slices.DeleteFunc(leaves, func(t float64) bool { return t <= q.at })
		next := slices.Index(free, slices.Min(free))
		start := max(q.at, free[next])
		switch wait := start - q.at; {
		case wait > 0 && len(leaves) >= r.Room:
		case wait > r.Patience:
			leaves = append(leaves, q.at+r.Patience)
		default:
			if wait > 0 {
				leaves = append(leaves, start)
			}
			free[next] = start + q.service
			out[i] = answer{true, start + q.service - q.at}
		}
	}
	return out
}
