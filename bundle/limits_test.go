package bundle

import (
	"slices"
	"testing"
)

// limits names the tests that show a fault which is known and not mended.
var limits = []string{
	"TestRuleHoles/a_property_misspelt_behind_a_variable",
	"TestRuleHoles/a_property_misspelt_in_a_comprehension",
	"TestRuleHoles/a_value_misspelt_behind_a_function",
	"TestRuleHoles/a_tool_misspelt_behind_a_pattern",
	"TestRegistryHoles/components_to_trust,_which_nothing_reads",
	"TestRegistryHoles/an_inferred_floor_that_pins_nothing",
}

// fault ends a test that found a fault: it fails, unless the fault is one of the
// known ones.
func fault(t *testing.T, format string, args ...any) {
	t.Helper()
	if slices.Contains(limits, t.Name()) {
		t.Skipf("known limit: "+format, args...)
	}
	t.Fatalf(format, args...)
}
