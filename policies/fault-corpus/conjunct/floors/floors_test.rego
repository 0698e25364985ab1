package conjunct.floors_test

import data.conjunct.floors

names(lists, folded) := {f.name | some f in floors.floors with input.facts.path.paths as [{"lists": lists, "lists_folded": folded}]}

test_in_scope_nothing_holds if names(["scope"], ["scope"]) == set()

test_outside_the_scope_is_refused if names([], []) == {"boundary"}

test_a_denied_path_in_scope_is_refused if names(["scope"], ["deny", "scope"]) == {"boundary"}

test_one_path_of_two_is_enough if {
	paths := [{"lists": ["scope"], "lists_folded": []}, {"lists": [], "lists_folded": []}]
	{f.name | some f in floors.floors with input.facts.path.paths as paths} == {"boundary"}
}
