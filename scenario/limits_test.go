package scenario

import (
	"slices"
	"testing"
)

// limits names the tests that show a fault which is known and not mended.
var limits = []string{
	"TestFormatHoles/a_capacity_that_is_text",
	"TestFormatHoles/a_setting_that_is_a_list",
	"TestFormatHoles/a_reason_in_a_form_that_no_code_has",
	"TestSettingsOfTheEngine",
	"TestExpiresIsATime",
	"TestActionProblemInAList",
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
