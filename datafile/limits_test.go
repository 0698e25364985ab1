package datafile

import (
	"slices"
	"testing"
)

// limits names the tests that show a fault which is known and not mended.
var limits = []string{
	"TestReadMisses/a_tag_that_makes_text_of_a_number",
	"TestReadMisses/a_tag_on_a_key",
	"TestReadMisses/an_anchor_on_a_key",
	"TestReadMisses/a_line_separator_loses_the_blank_after_it",
	"TestReadMisses/a_next-line_character_becomes_a_blank",
	"TestSyntaxErrorRow/a_word_after_the_end_of_the_document",
	"TestSyntaxErrorRow/a_bracket_that_closes_nothing_in_the_third_row",
	"TestSyntaxErrorRow/a_key_less_indented_than_its_siblings",
	"TestSyntaxErrorRow/a_comma_missing_in_a_list",
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
