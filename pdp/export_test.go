package pdp

import "github.com/conjunct-project/conjunct/journal"

// Append is how a batch gets to the disk.
type Append = func([]journal.Draft) ([]journal.Entry, error)

// Intercept puts something between a decision point and its journal. Nothing may
// have been asked of it before.
func (p *PDP) Intercept(around func(Append) Append) { p.append = around(p.append) }

// Queued is how many requests nobody has taken in yet.
func (p *PDP) Queued() int { return len(p.requests) }
