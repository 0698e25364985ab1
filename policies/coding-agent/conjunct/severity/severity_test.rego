package conjunct.severity_test

import data.conjunct.severity

class(reversibility, blast_radius) := {
	"reversibility": reversibility,
	"blast_radius": blast_radius,
	"absorbed_by": "operator",
	"detection_latency": "immediate",
	"source": "declared",
}

names(consequence, low) := {m.name |
	some m in severity.modifiers with input as {"consequence": consequence, "flags": {"low_confidence": low}}
}

test_a_reversible_task_executes if {
	severity.base == "execute" with input.consequence as class("reversible", "task")
}

test_a_costly_record_executes_and_notifies if {
	severity.base == "execute_notify" with input.consequence as class("costly", "record")
}

test_a_reversible_system_change_executes_and_notifies if {
	severity.base == "execute_notify" with input.consequence as class("reversible", "system")
}

test_everything_irreversible_is_proposed if {
	every radius in ["task", "record", "system", "external"] {
		severity.base == "propose" with input.consequence as class("irreversible", radius)
	}
}

test_everything_external_is_proposed if {
	every grade in ["reversible", "costly", "irreversible"] {
		severity.base == "propose" with input.consequence as class(grade, "external")
	}
}

test_no_modifier_holds_for_a_harmless_call if {
	names(class("reversible", "task"), false) == set()
}

test_low_confidence_is_a_modifier if {
	names(class("reversible", "task"), true) == {"confidence"}
}

test_unbounded_detection_is_a_modifier if {
	names(object.union(class("reversible", "task"), {"detection_latency": "unbounded"}), false) == {"detection_latency"}
}

test_days_are_not_unbounded if {
	names(object.union(class("reversible", "task"), {"detection_latency": "days"}), false) == set()
}

test_a_customer_who_pays_is_a_modifier if {
	names(object.union(class("reversible", "task"), {"absorbed_by": "customer"}), false) == {"absorbed_by"}
}

test_a_regulator_who_pays_is_a_modifier if {
	names(object.union(class("reversible", "task"), {"absorbed_by": "regulator"}), false) == {"absorbed_by"}
}

test_the_operator_who_pays_is_none if {
	names(class("costly", "record"), false) == set()
}

test_modifiers_add_up if {
	worst := {"absorbed_by": "customer", "detection_latency": "unbounded"}
	names(object.union(class("reversible", "task"), worst), true) == {"absorbed_by", "confidence", "detection_latency"}
}
