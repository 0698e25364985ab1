package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/bundle"
	"github.com/conjunct-project/conjunct/engine"
	"github.com/conjunct-project/conjunct/reexam"
)

// The exit codes, the same in every output format.
const (
	exitOK      = 0 // allowed, or success
	exitFailed  = 1 // the tool itself failed
	exitUsage   = 2 // usage, or malformed input: a bundle that does not load included
	exitBlocked = 3 // a call is blocked
	exitHeld    = 4 // a call is held for review
	exitNotHeld = 5 // a test, check, replay or comparison did not hold: a journal that does not verify included
)

// worst is the code for many results: 1 over 2 over 5 over 3 over 4 over 0.
func worst(a, b int) int {
	for _, code := range [...]int{exitFailed, exitUsage, exitNotHeld, exitBlocked, exitHeld} {
		if a == code || b == code {
			return code
		}
	}
	return exitOK
}

func exitFor(o engine.Outcome) int {
	switch o {
	case engine.Allow:
		return exitOK
	case engine.Review:
		return exitHeld
	}
	return exitBlocked
}

// exitError carries an exit code out of a command that has said all there is to
// say.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// usageError is a command line or an input that the user has to mend.
type usageError struct {
	msg  string
	hint string
}

func (e *usageError) Error() string { return e.msg }

func usagef(hint, format string, args ...any) error {
	return &usageError{msg: fmt.Sprintf(format, args...), hint: hint}
}

func (e *usageError) hinted() string { return e.hint }

// hintedError is any other error, with something to do about it.
type hintedError struct {
	error
	hint string
}

func (e *hintedError) Unwrap() error { return e.error }

func (e *hintedError) hinted() string { return e.hint }

// blockedError is something that policy did not let happen.
type blockedError struct{ msg, hint string }

func (e *blockedError) Error() string { return e.msg }

func (e *blockedError) hinted() string { return e.hint }

// damagedError is a journal that does not verify. Every command that reads one
// checks it from the first entry, and goes no further.
type damagedError struct {
	path    string
	problem *reexam.Problem
}

func (e *damagedError) Error() string {
	return fmt.Sprintf("%s: the journal does not verify: %v", e.path, e.problem)
}

func (e *damagedError) hinted() string {
	return fmt.Sprintf("`conjunct replay %s` checks it again; put it back from a copy: nothing is told of it or decided on it as it is", e.path)
}

// unread is the error of a command that could not read the journal at a path.
func unread(path string, err error) error {
	if !errors.Is(err, fs.ErrPermission) && !reexam.Holds(path) {
		return noState(path)
	}
	if problem := reexam.ProblemOf(err); problem != nil {
		return &damagedError{path, problem}
	}
	return fmt.Errorf("%s: %w", path, err)
}

// hint is what an error says to do next, where it says that.
func hint(err error) string {
	var h interface {
		error
		hinted() string
	}
	if errors.As(err, &h) {
		return h.hinted()
	}
	return ""
}

// codeOf is the exit code for an error.
func codeOf(err error) int {
	var code exitError
	var damaged *damagedError
	var usage *usageError
	var load *bundle.LoadError
	var malformed *action.Error
	var blocked *blockedError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &damaged):
		return exitNotHeld
	case errors.As(err, &blocked):
		return exitBlocked
	case errors.As(err, &usage), errors.As(err, &load), errors.As(err, &malformed):
		return exitUsage
	}
	return exitFailed
}
