package signals

// slab hands out short slices of one kind that live as long as each other, such as
// those of the commands of one line: a few pieces of memory for hundreds of them.
type slab[T any] struct {
	free []T
	size int // of the last piece
	most int // the size of the largest piece; 0: as small as firstPiece
}

// firstPiece is the size of the first piece: most lines have only a command or two.
const firstPiece = 2

// take is a slice of n zero values, which nobody else has and that appending to
// does not enlarge in place.
func (s *slab[T]) take(n int) []T {
	if n > len(s.free) {
		s.size = max(firstPiece, min(2*s.size, s.most))
		s.free = make([]T, max(n, s.size))
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	return out
}
