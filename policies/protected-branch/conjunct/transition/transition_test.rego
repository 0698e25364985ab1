package conjunct.transition_test

import data.conjunct.transition

none := {"retry_left": false, "recoverable": true, "other_component": false, "can_ask": false, "high_consequence": false}

next(cause, flags) := answer.transition if {
	answer := transition.next with input.flags as object.union(object.union(none, flags), {"cause": cause})
}

test_out_of_scope_stops if next("out_of_scope", {"can_ask": true}) == "stop"

test_an_ineligible_component_is_switched if next("ineligible", {}) == "switch"

test_past_the_deadline_stops if next("deadline_past", {"can_ask": true}) == "stop"

test_missing_checks_are_run if next("evidence", {"can_ask": true}) == "verify"

test_a_failure_is_tried_again if next("failure", {"retry_left": true}) == "retry"

test_a_failure_without_budget_stops if next("failure", {}) == "stop"

test_a_rejected_change_stops if next("rejected", {"can_ask": true}) == "stop"

test_a_due_review_is_asked_for if next("review_due", {"can_ask": true}) == "escalate"

test_a_full_queue_defers if next("review_due", {"retry_left": true}) == "defer"
