package conjunct.floors_test

import data.conjunct.floors

names(reversibility, blast_radius) := {f.name |
	some f in floors.floors with input.consequence as {"reversibility": reversibility, "blast_radius": blast_radius}
}

test_an_irreversible_system_change_is_refused if {
	names("irreversible", "system") == {"irreversible-system-out-of-scope"}
}

test_the_floor_refuses if {
	every f in floors.floors {
		f.tier == "refuse"
	} with input.consequence as {"reversibility": "irreversible", "blast_radius": "system"}
}

test_a_costly_system_change_is_not if names("costly", "system") == set()

test_an_irreversible_record_is_not if names("irreversible", "record") == set()

test_mail_that_cannot_be_taken_back_is_not if names("irreversible", "external") == set()
