# Floors pin a tier from below: nothing loosens them, and one that cannot be
# determined applies. This bundle has none; here is what one looks like.
#
#   # METADATA
#   # title: Irreversible changes to a whole system are out of an agent's scope
#   # custom:
#   #   id: irreversible-system-out-of-scope
#   floors contains {"name": "irreversible-system-out-of-scope", "tier": "refuse"} if {
#   	input.consequence.reversibility == "irreversible"
#   	input.consequence.blast_radius == "system"
#   }
package conjunct.floors
