package metrics

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/conjunct-project/conjunct/journal"
)

// ErrBroken is a journal whose chain does not verify, or that holds what no
// decision point writes: no figures are made of it.
var ErrBroken = errors.New("metrics: the journal does not verify")

// Of reads the journal at a path, with its older segments, and makes its
// figures. The chain is verified; a last line that is not finished is told in
// the report and left out.
func Of(ctx context.Context, file string, o Options) (Report, error) {
	f := New(o)
	_, err := journal.Walk(file, func(e journal.Entry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return f.Next(e)
	})
	var fault *journal.Fault
	if errors.As(err, &fault) && fault.Code != journal.TornTail {
		return Report{}, fmt.Errorf("%w: entry %d: %s: %s (%s:%d)", ErrBroken, fault.Seq, fault.Code, fault.Text, filepath.Base(fault.File), fault.Line)
	}
	if err != nil && fault == nil {
		return Report{}, err
	}
	r := f.Report()
	if fault != nil {
		r.Torn = fault.Text
	}
	return r, nil
}
