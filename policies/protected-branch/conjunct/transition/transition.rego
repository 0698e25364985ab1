# The order of a protected branch. The engine takes the first cause that holds
# and asks what follows it.
package conjunct.transition

# METADATA
# title: What follows a cause that nothing else answers
# custom:
#   id: transition-stop
default next := {"transition": "stop"}

# METADATA
# title: Somebody else has to merge
# custom:
#   id: transition-switch
next := {"transition": "switch"} if {
	input.flags.cause == "ineligible"
}

# METADATA
# title: Run the checks
# custom:
#   id: transition-verify
next := {"transition": "verify"} if {
	input.flags.cause == "evidence"
}

# METADATA
# title: Try again after a failure, once
# custom:
#   id: transition-retry
next := {"transition": "retry"} if {
	input.flags.cause == "failure"
	input.flags.retry_left
}

# METADATA
# title: Ask for a review
# custom:
#   id: transition-escalate
next := {"transition": "escalate"} if {
	input.flags.cause == "review_due"
	input.flags.can_ask
}

# METADATA
# title: Wait until a reviewer has room
# custom:
#   id: transition-defer
next := {"transition": "defer"} if {
	input.flags.cause == "review_due"
	not input.flags.can_ask
}
