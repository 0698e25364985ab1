# What the state of the branch pins. Both floors hold for anything but the one
# value that lets them go, so a setting that is missing or odd tightens.
package conjunct.floors

# METADATA
# title: The change lies outside the scope of the branch's automation
# custom:
#   id: out-of-scope
floors contains {"name": "out-of-scope", "tier": "refuse"} if {
	input.state.settings.scope != true
}

# METADATA
# title: The branch requires a review
# custom:
#   id: review-required
floors contains {"name": "review-required", "tier": "propose"} if {
	input.state.settings.review_required != false
}
