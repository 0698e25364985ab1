# Tests are what tells whether the agent's work holds, so the agent does not take
# from them by itself.
package conjunct.gates

# METADATA
# title: Tests keep what they demand
# custom:
#   id: tests-kept
tests_kept := {"verdict": "fail", "reasons": ["tests_demand_less"]} if {
	some change in input.facts.tests.seen
	follows(change) == "block"
}

tests_kept := {"verdict": "pass", "reasons": []} if {
	every change in input.facts.tests.changes {
		follows(change) == "review"
	}
}

# METADATA
# title: A person looks at tests that expect something else
# custom:
#   id: tests-changed
tests_changed := {"verdict": "fail", "reasons": ["tests_changed"]} if {
	some change in input.facts.tests.seen
	follows(change) == "review"
}

tests_changed := {"verdict": "pass", "reasons": []} if {
	every change in input.facts.tests.changes {
		follows(change) == "block"
	}
}

# What follows from a change: a person looks where it only may be one, where the
# scope says so, and where a test is deleted together with the code it is about.
follows(change) := "review" if {
	change.certainty == "possible"
} else := "review" if {
	change.change in data.conjunct.scope.test_changes.review
} else := "review" if {
	change.change == "deleted"
	some path in input.facts.path.paths
	path.access == "delete"
	stem(change.path) in names_of_tests(stem(path.declared))
} else := "block"

# What the test of a file is usually called.
names_of_tests(subject) := {
	concat("", ["test_", subject]), concat("", [subject, "_test"]), concat("", [subject, ".test"]),
	concat("", [subject, ".spec"]), concat("", [subject, "Test"]), concat("", [subject, "Tests"]), concat("", [subject, "_spec"]),
}

stem(path) := regex.replace(regex.replace(path, `^.*/`, ""), `\.[^.]*$`, "")
