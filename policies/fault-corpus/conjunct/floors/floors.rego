# What no approval opens. The paths are those that would be touched, with every
# link followed; what cannot be determined counts as outside.
package conjunct.floors

# METADATA
# title: The call touches a path outside the scope, or one that is denied
# custom:
#   id: boundary
floors contains {"name": "boundary", "tier": "refuse"} if outside

outside if input.facts.path.all.scope == false

outside if input.facts.path.any.deny == true
