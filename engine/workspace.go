package engine

// Workspace is the memory that folding an event takes besides what it gives back,
// kept for the next event. The zero value is ready. It folds one event at a time,
// and what it gave may be overwritten when it folds again: whoever keeps a record,
// its decision or its writes for longer copies it.
//
// A policy gets a pointer to the input in it and must be done with that when the
// fold is: a workspace whose policy may still be at work is not used again.
type Workspace struct {
	fold      fold
	input     Input
	judgement judgement
	decision  Decision
}

// Reset forgets what was folded, and keeps the room.
func (s *Workspace) Reset() { *s = Workspace{fold: fold{w: s.fold.w.emptied()}} }

// emptied are no writes, with room for what an attempt writes.
func (w *Writes) emptied() Writes {
	clear(w.Paths)
	clear(w.Calls)
	clear(w.Holders)
	return Writes{Paths: w.Paths[:0], Calls: w.Calls[:0], Holders: w.Holders[:0]}
}
