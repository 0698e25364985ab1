package signals

// slab hands out short slices of one kind that live as long as each other, such as
// those of the commands of one line: a few pieces of memory for hundreds of them.
type slab[T any] struct {
	free []T
	size int // of the last piece
}

// Sizes of the pieces of a slab: small for what has only one or two, and never so
// large that much of the last one is for nothing.
const (
	firstPiece = 2
	maxPiece   = 16
)

// take is a slice of n zero values, which nobody else has and that appending to
// does not enlarge in place.
func (s *slab[T]) take(n int) []T {
	if n > len(s.free) {
		s.size = min(max(2*s.size, firstPiece), maxPiece)
		s.free = make([]T, max(n, s.size))
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	return out
}
