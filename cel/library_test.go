package cel

import (
	"errors"
	"os"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
)

// These tests hold what this package knows about cel-go v0.31.0 and works around.
// One that fails after an upgrade says that a workaround may go.

// A test binary names no modules in its build information, so go.mod speaks too.
func TestVersionIsTheOneThatIsBuilt(t *testing.T) {
	const module = "github.com/google/cel-go"
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if want := module + " " + Version(); !strings.Contains(string(mod), want) {
		t.Errorf("go.mod does not require %s", want)
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return
	}
	for _, m := range info.Deps {
		if m.Path == module && m.Version != Version() {
			t.Errorf("Version() = %s, built with %s", Version(), m.Version)
		}
	}
}

// The limit must hold in the way the programs here are planned, and does not hold
// together with state tracking.
func TestTheCostLimitHoldsOnlyWithoutStateTracking(t *testing.T) {
	env, err := newEnv(&adapter{registry: types.DefaultTypeAdapter})
	if err != nil {
		t.Fatal(err)
	}
	checked, issues := env.Compile(`[1, 2, 3, 4, 5].all(a, [1, 2, 3, 4, 5].all(b, a + b > 0))`)
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	for _, tt := range []struct {
		name    string
		option  cel.EvalOption
		limited bool
	}{
		{"as planned here", cel.OptOptimize, true},
		{"with state tracking", cel.OptTrackState, false},
		{"with exhaustive evaluation", cel.OptExhaustiveEval, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := env.Program(checked, cel.EvalOptions(tt.option), cel.CostLimit(10))
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = p.Eval(map[string]any{})
			var cut interpreter.EvalCancelledError
			if limited := errors.As(err, &cut); limited != tt.limited {
				t.Errorf("limited %t, want %t: %v", limited, tt.limited, err)
			}
		})
	}
}

// The input is passed as maps because native types lose fields of type any.
func TestNativeTypesHideFieldsOfAnyType(t *testing.T) {
	type call struct {
		Tool string         `cel:"tool"`
		Args map[string]any `cel:"args"`
	}
	env, err := cel.NewEnv(ext.NativeTypes(reflect.TypeFor[call](), ext.ParseStructTags(true)),
		cel.Variable("call", cel.ObjectType("cel.call")))
	if err != nil {
		t.Fatal(err)
	}
	if _, issues := env.Compile(`call.tool == "a"`); issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	if _, issues := env.Compile(`call.args == {}`); issues.Err() == nil {
		t.Error("a field of type map[string]any is visible now")
	}
}

// An error value inside a map compares as equal, so oversized values panic.
func TestAnErrorInsideAMapIsEqual(t *testing.T) {
	broken := types.NewRefValMap(types.DefaultTypeAdapter, map[ref.Val]ref.Val{types.String("a"): types.NewErr("broken")})
	whole := types.NewRefValMap(types.DefaultTypeAdapter, map[ref.Val]ref.Val{types.String("a"): types.String("x")})
	if broken.Equal(whole) != types.True {
		t.Error("an error inside a map is not equal any more")
	}
}
