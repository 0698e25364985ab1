package rego

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"
)

// builtins is the allow-list: pure functions whose cost is bounded by their
// input. Left out on purpose: everything that reaches a network, a clock, a
// random source or the environment (zone functions of time read tzdata from
// it), x509 (it reads the wall clock without saying so), and what turns a
// small number into a large value (bits.lsh, numbers.range).
var builtins = []string{
	"assign", "eq", "equal", "neq", "lt", "lte", "gt", "gte",
	"plus", "minus", "mul", "div", "rem", "abs", "ceil", "floor", "round",
	"and", "or", "intersection", "union",
	"count", "sum", "product", "max", "min", "sort",
	"array.concat", "array.reverse", "array.slice",
	"object.filter", "object.get", "object.keys", "object.remove", "object.subset", "object.union",
	"is_array", "is_boolean", "is_null", "is_number", "is_object", "is_set", "is_string", "type_name", "to_number",
	"concat", "contains", "endswith", "startswith", "format_int", "indexof", "indexof_n", "lower", "upper", "replace",
	"split", "sprintf", "strings.any_prefix_match", "strings.any_suffix_match", "strings.count", "strings.replace_n",
	"strings.reverse", "substring", "trim", "trim_left", "trim_prefix", "trim_right", "trim_space", "trim_suffix",
	"regex.find_n", "regex.is_valid", "regex.match", "regex.replace", "regex.split", "glob.match", "glob.quote_meta",
	"net.cidr_contains", "net.cidr_intersects", "net.cidr_is_valid",
	"base64.decode", "base64.is_valid", "base64url.decode", "hex.decode", "urlquery.decode", "uri.is_valid", "uri.parse",
	"json.is_valid", "json.unmarshal", "crypto.sha256", "semver.compare", "semver.is_valid", "units.parse", "units.parse_bytes",
	"time.parse_duration_ns", "time.parse_rfc3339_ns", "walk",
	"rego.metadata.chain", "rego.metadata.rule",
	// What `in`, string interpolation and `every` compile to.
	"internal.member_2", "internal.member_3", "internal.template_string",
}

// capabilities is OPA's set cut down to the allow-list, without network.
func capabilities() *ast.Capabilities {
	c := ast.CapabilitiesForThisVersion()
	c.Builtins = slices.DeleteFunc(c.Builtins, func(b *ast.Builtin) bool {
		return b.Nondeterministic || !slices.Contains(builtins, b.Name)
	})
	c.AllowNet = []string{}
	return c
}

// forbidden reports whether name is a builtin of OPA that the allow-list leaves
// out.
func forbidden(name string) bool {
	_, known := ast.BuiltinMap[name]
	return known && !slices.Contains(builtins, name)
}

// untyped is capabilities with every operand and result of any type. Partial
// evaluation drops a body that does not type-check, as one that never succeeds:
// that is wrong below a negation, and for an input that is not what the schema
// says.
func untyped() *ast.Capabilities {
	c := capabilities()
	for i, b := range c.Builtins {
		loose := *b
		args := make([]types.Type, len(b.Decl.FuncArgs().Args))
		for j := range args {
			args[j] = types.A
		}
		loose.Decl = types.NewFunction(args, types.A)
		if v := b.Decl.FuncArgs().Variadic; v != nil {
			loose.Decl = types.NewVariadicFunction(args, types.A, types.A)
		}
		if b.Decl.Result() == nil {
			loose.Decl = types.NewFunction(args, nil)
		}
		c.Builtins[i] = &loose
	}
	return c
}
