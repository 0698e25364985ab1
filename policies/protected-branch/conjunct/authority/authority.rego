# Who may do what on a protected branch. The engine holds besides that neither
# the agent nor the component acts on its own call, and that the pusher does
# not review it.
package conjunct.authority

# METADATA
# title: What nobody was given, nobody may
# custom:
#   id: authority-default
default may := false

# METADATA
# title: Qualified people decide reviews
# custom:
#   id: authority-review
may if {
	input.op == "review"
	input.outcome in {"approve", "reject", "return"}
	input.qualified
}

# METADATA
# title: Everybody may revoke
# custom:
#   id: authority-revoke
may if {
	input.op == "review"
	input.outcome == "revoke"
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
