// Package floors turns the severity, transition and floor rules of a bundle
// into what runs: tables and clauses, evaluated in Go without OPA.
//
// Severity and transition read finite sets only. They are enumerated over
// their whole domain at load, and a domain point without a valid answer
// refuses the bundle; the table is what runs.
//
// Floors and raises are three-valued. A clause with a false atom does not
// apply. Otherwise, where a path it reads is absent or a test went wrong, it
// applies: a floor that cannot be determined tightens. Only then is a form
// that is not a plain atom handed to OPA, for that clause alone.
//
// The package reads no text of policies; rego gives it clauses as data.
package floors
