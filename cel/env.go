package cel

import (
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
)

// variablePrefix is how a variable is declared: a qualified name, so that it
// keeps the type of its expression.
const variablePrefix = "variables."

// rootNames lists what a gate can read, beside its variables.
var rootNames = [...]string{"action", "args", "consequence", "facts", "state", "now", "scope"}

// nestingLimit is how deep comprehensions may nest.
const nestingLimit = 2

// expressionLimit is the longest expression in code points; a gate is a short
// boolean.
const expressionLimit = 16 << 10

// newEnv returns the environment that all gates share. Every library is pinned,
// so that a gate keeps its meaning when cel-go is upgraded.
func newEnv(a *adapter) (*cel.Env, error) {
	object := cel.MapType(cel.StringType, cel.DynType)
	return cel.NewCustomEnv(
		cel.StdLib(),
		cel.CustomTypeAdapter(a),
		cel.Variable("action", object),
		cel.Variable("args", object),
		cel.Variable("consequence", cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable("facts", object),
		cel.Variable("state", cel.MapType(cel.StringType, object)),
		cel.Variable("now", cel.IntType),
		cel.Variable("scope", object),
		cel.OptionalTypes(cel.OptionalTypesVersion(2)),
		ext.Strings(ext.StringsVersion(5)),
		ext.Sets(ext.SetsVersion(0)),
		ext.Lists(ext.ListsVersion(3)),
		ext.Math(ext.MathVersion(2)),
		ext.Regex(ext.RegexVersion(0)),
		ext.Bindings(ext.BindingsVersion(0)),
		ext.TwoVarComprehensions(ext.TwoVarComprehensionsVersion(0)),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.EagerlyValidateDeclarations(true),
		// has() on something that has no keys is an error, not "absent": a gate that
		// says !has(args.a.b) must not pass because args.a is a number.
		cel.EnableErrorOnBadPresenceTest(true),
		cel.ParserExpressionSizeLimit(expressionLimit),
		cel.ASTValidators(
			cel.ValidateRegexLiterals(),
			regexSizes{},
			cel.ValidateDurationLiterals(),
			cel.ValidateTimestampLiterals(),
			cel.ValidateComprehensionNestingLimit(nestingLimit),
		),
	)
}

// functionNames lists the functions of an environment by the name a gate calls.
func functionNames(env *cel.Env) []string {
	var names []string
	for name := range env.Functions() {
		if !strings.ContainsAny(name, "_@!-") {
			names = append(names, name)
		}
	}
	for _, m := range env.Macros() {
		names = append(names, m.Function())
	}
	return names
}
