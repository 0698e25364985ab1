# What no approval opens. The paths are those that would be touched, with every
# link followed; what cannot be determined counts as outside.
package conjunct.floors

# METADATA
# title: The call touches a path outside the scope, or one that is denied
# custom:
#   id: boundary
floors contains {"name": "boundary", "tier": "refuse"} if {
	some touched in input.facts.path.paths
	outside(touched)
}

outside(touched) if not "scope" in touched.lists

outside(touched) if "deny" in touched.lists_folded
