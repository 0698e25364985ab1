package conjunct.floors_test

import data.conjunct.floors

names(settings) := {f.name | some f in floors.floors with input.state.settings as settings}

test_in_scope_without_review_nothing_holds if names({"scope": true, "review_required": false}) == set()

test_out_of_scope_refuses if names({"scope": false, "review_required": false}) == {"out-of-scope"}

test_an_odd_scope_refuses if names({"scope": "yes", "review_required": false}) == {"out-of-scope"}

test_a_required_review_proposes if names({"scope": true, "review_required": true}) == {"review-required"}

test_an_odd_review_setting_proposes if names({"scope": true, "review_required": null}) == {"review-required"}
