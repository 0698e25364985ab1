package conjunct.floors_test

import data.conjunct.floors

names(any) := {f.name | some f in floors.floors with input.facts.shell.any as any}

none := {"irreversible": false, "privileged": false}

test_a_plain_line_meets_no_floor if names(none) == set()

test_what_cannot_be_taken_back_needs_a_person if {
	names(object.union(none, {"irreversible": true})) == {"irreversible-command"}
}

test_another_users_rights_need_a_person if {
	names(object.union(none, {"privileged": true})) == {"privileged-command"}
}

test_the_floors_ask_and_do_not_refuse if {
	every f in floors.floors {
		f.tier == "propose"
	} with input.facts.shell.any as {"irreversible": true, "privileged": true}
}
