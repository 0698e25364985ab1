# What has to happen next when a gate is not pass. The rule answers one cause;
# the engine admits only what the row of the cause's gate allows, and stops
# otherwise.
package conjunct.transition

# METADATA
# title: What follows a cause that nothing else answers
# custom:
#   id: transition-stop
default next := {"transition": "stop"}

# METADATA
# title: Another component may run the task
# custom:
#   id: transition-switch
next := {"transition": "switch"} if {
	input.flags.cause == "ineligible"
	input.flags.other_component
}

# METADATA
# title: Read the context again while the budget lasts
# custom:
#   id: transition-refresh
next := {"transition": "retry"} if {
	input.flags.cause == "context"
	input.flags.retry_left
}

# METADATA
# title: Wait for current context
# custom:
#   id: transition-wait
next := {"transition": "defer"} if {
	input.flags.cause == "context"
	not input.flags.retry_left
}

# METADATA
# title: Get the evidence
# custom:
#   id: transition-verify
next := {"transition": "verify"} if {
	input.flags.cause == "evidence"
}

# METADATA
# title: Try again after a failure that can be recovered from
# custom:
#   id: transition-retry
next := {"transition": "retry"} if {
	input.flags.cause == "failure"
	input.flags.retry_left
	input.flags.recoverable
}

# METADATA
# title: Ask a person
# custom:
#   id: transition-escalate
next := {"transition": "escalate"} if {
	input.flags.cause in for_a_person
	input.flags.can_ask
}

# METADATA
# title: Wait until a person can be asked
# custom:
#   id: transition-defer
next := {"transition": "defer"} if {
	input.flags.cause in for_a_person
	not input.flags.can_ask
}

for_a_person := {"own_review", "structure", "critic", "review_due"}
