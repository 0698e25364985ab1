package rego

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// Problem is one thing wrong with a module, and where. Row and Col are 1-based;
// 0 when unknown.
type Problem struct {
	File    string
	Row     int
	Col     int
	Code    string
	Message string
	Hint    string
	// Entry names the entry point that a problem without a place is about.
	Entry string
}

func at(loc *ast.Location, code, message, hint string) Problem {
	p := Problem{Code: code, Message: message, Hint: hint}
	if loc != nil {
		p.File, p.Row, p.Col = loc.File, loc.Row, loc.Col
	}
	return p
}

// fromOPA turns an OPA error into problems, one for each error in it.
func fromOPA(err error) []Problem {
	var list ast.Errors
	var one *ast.Error
	var late *topdown.Error
	switch {
	case errors.As(err, &list):
	case errors.As(err, &one):
		list = ast.Errors{one}
	case errors.As(err, &late):
		return []Problem{at(late.Location, "rego_evaluation", late.Message, "")}
	default:
		return []Problem{{Code: "rego_error", Message: err.Error()}}
	}
	var out []Problem
	for _, e := range list {
		p := at(e.Location, e.Code, e.Message, "")
		if d, ok := e.Details.(*ast.RefErrInvalidDetail); ok && len(d.OneOf) > 0 {
			p.Hint = fmt.Sprintf("one of %v", d.OneOf)
		}
		out = append(out, p)
	}
	return out
}

// sorted orders problems by place and drops a type error where this package
// has already said, in better words, what is wrong in that row.
func sorted(problems []Problem) []Problem {
	said := map[string]bool{}
	for _, p := range problems {
		if p.Code != ast.TypeErr {
			said[fmt.Sprint(p.File, p.Row)] = true
		}
	}
	problems = slices.DeleteFunc(problems, func(p Problem) bool {
		return p.Code == ast.TypeErr && p.Row > 0 && said[fmt.Sprint(p.File, p.Row)]
	})
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Row, b.Row), cmp.Compare(a.Col, b.Col), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(problems, func(a, b Problem) bool {
		return a.File == b.File && a.Row == b.Row && a.Message == b.Message
	})
}
