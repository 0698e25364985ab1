package conjunct.transition_test

import data.conjunct.transition

none := {"retry_left": false, "recoverable": true, "other_component": false, "can_ask": false, "high_consequence": false}

next(cause, flags) := answer.transition if {
	answer := transition.next with input.flags as object.union(object.union(none, flags), {"cause": cause})
}

test_out_of_scope_stops if next("out_of_scope", {"can_ask": true}) == "stop"

test_past_the_deadline_stops if next("deadline_past", {"can_ask": true, "retry_left": true}) == "stop"

test_an_ineligible_component_is_switched if next("ineligible", {"other_component": true}) == "switch"

test_without_another_component_it_stops if next("ineligible", {}) == "stop"

test_stale_context_is_read_again if next("context", {"retry_left": true}) == "retry"

test_stale_context_without_budget_waits if next("context", {}) == "defer"

test_missing_evidence_is_verified if next("evidence", {"can_ask": true}) == "verify"

test_a_recoverable_failure_is_retried if next("failure", {"retry_left": true}) == "retry"

test_a_failure_without_budget_stops if next("failure", {}) == "stop"

test_an_unrecoverable_failure_stops if next("failure", {"retry_left": true, "recoverable": false}) == "stop"

test_a_rejected_call_stops if next("rejected", {"can_ask": true}) == "stop"

test_a_blocking_gate_stops if next("own_block", {"can_ask": true}) == "stop"

test_people_are_asked_when_they_can_be if {
	every cause in ["own_review", "structure", "critic", "review_due"] {
		next(cause, {"can_ask": true}) == "escalate"
	}
}

test_people_who_cannot_be_asked_are_waited_for if {
	every cause in ["own_review", "structure", "critic", "review_due"] {
		next(cause, {"retry_left": true}) == "defer"
	}
}
