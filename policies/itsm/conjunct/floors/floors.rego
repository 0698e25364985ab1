# What no agent of the service desk may do, however sure it is.
package conjunct.floors

# METADATA
# title: Irreversible changes to a whole system are out of an agent's scope
# description: Nobody can take such a change back, and it reaches more than the ticket at hand.
# custom:
#   id: irreversible-system-out-of-scope
#   owasp: LLM06:2025
floors contains {"name": "irreversible-system-out-of-scope", "tier": "refuse"} if {
	input.consequence.reversibility == "irreversible"
	input.consequence.blast_radius == "system"
}
