# What a coding agent does not do by itself, however sure it is.
package conjunct.floors

# METADATA
# title: What cannot be taken back, in a repository or a cloud account, needs a person
# description: The list is scope data; a pushed history and a deleted resource are nobody's to restore.
# custom:
#   id: irreversible-command
#   owasp: LLM06:2025
floors contains {"name": "irreversible-command", "tier": "propose"} if {
	input.facts.shell.any.irreversible == true
}

# METADATA
# title: A command that runs with another user's rights needs a person
# custom:
#   id: privileged-command
floors contains {"name": "privileged-command", "tier": "propose"} if {
	input.facts.shell.any.privileged == true
}
