package conjunct.authority_test

import data.conjunct.authority

may(event) if authority.may with input as event

review(outcome, qualified) := {"op": "review", "outcome": outcome, "by": "somebody", "role": "", "qualified": qualified}

test_a_qualified_person_reviews if {
	every outcome in ["approve", "reject", "return"] {
		may(review(outcome, true))
	}
}

test_an_unqualified_person_does_not if {
	every outcome in ["approve", "reject", "return"] {
		not may(review(outcome, false))
	}
}

test_everybody_revokes if may(review("revoke", false))

test_an_operator_reports if may({"op": "evidence", "by": "ci", "role": "operator", "qualified": false})

test_a_stranger_does_not if not may({"op": "evidence", "by": "x", "role": "", "qualified": true})

test_only_operators_activate if {
	may({"op": "activate", "by": "x", "role": "operator", "qualified": false})
	not may({"op": "activate", "by": "x", "role": "pep", "qualified": false})
}
