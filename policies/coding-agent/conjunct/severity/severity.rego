# The base tier of a consequence and what tightens it. These rules read finite
# sets only: Conjunct asks them for every class when the bundle is loaded.
package conjunct.severity

# METADATA
# title: Base tier from the severity table
# custom:
#   id: severity-base
base := data.conjunct.severity.table[input.consequence.blast_radius][input.consequence.reversibility]

# METADATA
# title: A mistake might never be noticed
# custom:
#   id: severity-detection-latency
modifiers contains {"name": "detection_latency"} if {
	input.consequence.detection_latency == "unbounded"
}

# METADATA
# title: Somebody outside pays for a mistake
# custom:
#   id: severity-absorbed-by
modifiers contains {"name": "absorbed_by"} if {
	input.consequence.absorbed_by in {"customer", "regulator"}
}

# METADATA
# title: Confidence is below the threshold, or was not given
# custom:
#   id: severity-confidence
modifiers contains {"name": "confidence"} if {
	input.flags.low_confidence
}
