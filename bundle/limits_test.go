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
	"TestArchiveNamesThatEscape",
	"TestCELProblemPlaces/folded_with_a_row_indented_more",
	"TestCELProblemPlaces/folded_with_an_empty_row",
	"TestCELProblemPlaces/literal_with_a_row_indented_more",
	"TestCELProblemPlaces/in_the_second_gate_of_a_name",
	"TestCELProblemPlaces/single-quoted_with_a_doubled_quote_in_front",
	"TestCELProblemPlaces/double-quoted_over_two_rows",
	"TestCELProblemPlaces/double-quoted_with_an_escape_in_front",
	"TestCELProblemPlaces/plain_over_two_rows",
	"TestCELProblemPlaces/quoted_behind_letters_beyond_ASCII",
	"TestCELProblemPlaces/folded_with_letters_beyond_ASCII_in_front",
	"TestDuplicateGateIsTheSecond",
	"TestMatchProblemIsAtTheMatch",
	"TestContractHoles/a_high_consequence_of_no_value",
	"TestContractHoles/a_binding_twice",
	"TestContractHoles/a_default_action_with_an_unknown_argument",
	"TestContractHoles/a_default_action_of_a_tool_that_nobody_declares",
	"TestContractHoles/a_counter_of_no_tool",
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
