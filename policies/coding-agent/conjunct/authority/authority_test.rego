package conjunct.authority_test

import data.conjunct.authority

event(op, role, qualified) := {"op": op, "by": "somebody", "role": role, "qualified": qualified}

may(op, role, qualified) if authority.may with input as event(op, role, qualified)

test_a_qualified_reviewer_may_review if may("review", data.conjunct.contract.roles[0], true)

test_an_unqualified_reviewer_may_not if not may("review", data.conjunct.contract.roles[0], false)

test_a_stranger_may_not_review if not may("review", "stranger", true)

test_the_enforcement_point_reports_results if may("result", "pep", false)

test_a_reviewer_reports_no_evidence if not may("evidence", data.conjunct.contract.roles[0], true)

test_only_operators_activate if {
	may("activate", "operator", false)
	not may("activate", "pep", true)
}

test_an_agent_may_nothing if {
	every op in ["change", "settings", "evidence", "failure", "engage", "review", "result", "activate"] {
		not may(op, "agent", true)
	}
}
