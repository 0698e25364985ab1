package metrics

import (
	"context"
	"errors"

	"github.com/conjunct-project/conjunct/journal"
)

// Of reads the journal at a path, with its older segments, and makes its
// figures. The chain is verified; a last line that is not finished is told in
// the report and left out. Of a journal whose chain does not verify, or that holds
// what no decision point writes, no figures are made: the error is a
// *journal.Fault.
func Of(ctx context.Context, file string, o Options) (Report, error) {
	f := New(o)
	_, err := journal.Walk(file, func(e journal.Entry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return f.Next(e)
	})
	var fault *journal.Fault
	if torn := errors.As(err, &fault) && fault.Code == journal.TornTail; err != nil && !torn {
		return Report{}, err
	}
	r := f.Report()
	if fault != nil {
		r.Torn = fault.Text
	}
	return r, nil
}
