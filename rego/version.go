package rego

import "github.com/open-policy-agent/opa/v1/version"

// Version is OPA's, in the form of its module's version.
func Version() string { return "v" + version.Version }
