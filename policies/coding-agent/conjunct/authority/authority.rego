# Who may do what to the evidence state. The engine holds besides, whatever is
# written here, that no agent or component acts on its own call.
package conjunct.authority

# METADATA
# title: What nobody was given, nobody may
# custom:
#   id: authority-default
default may := false

# METADATA
# title: Qualified reviewers decide reviews
# custom:
#   id: authority-review
may if {
	input.op in {"review", "clear", "confirm", "compensate", "acknowledge"}
	input.role in data.conjunct.contract.roles
	input.qualified
}

# METADATA
# title: The enforcement point and operators report what happened
# custom:
#   id: authority-report
may if {
	input.op in {"change", "settings", "evidence", "failure", "engage", "result", "checkpoint"}
	input.role in {"pep", "operator"}
}

# METADATA
# title: Operators activate bundles
# custom:
#   id: authority-activate
may if {
	input.op == "activate"
	input.role == "operator"
}
