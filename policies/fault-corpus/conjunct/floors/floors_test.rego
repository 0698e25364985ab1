package conjunct.floors_test

import data.conjunct.floors

names(in_scope, denied) := {f.name |
	some f in floors.floors with input.facts.path as {"all": {"scope": in_scope}, "any": {"deny": denied}}
}

test_in_scope_nothing_holds if names(true, false) == set()

test_a_path_outside_the_scope_is_refused if names(false, false) == {"boundary"}

test_a_denied_path_in_scope_is_refused if names(true, true) == {"boundary"}
