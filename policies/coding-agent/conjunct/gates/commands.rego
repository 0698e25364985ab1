# What a command line would run, every part of it for itself.
package conjunct.gates

# METADATA
# title: No command that is denied, hides what it runs or leaves the machine unasked
# custom:
#   id: commands-bound
#   owasp: LLM06:2025
commands_bound := {"verdict": "fail", "reasons": sort(command_faults)} if {
	count(command_faults) > 0
}

commands_bound := {"verdict": "pass", "reasons": []} if {
	count(command_faults) == 0
	input.facts.shell.commands
}

command_faults contains "command_denied" if {
	some command in input.facts.shell.seen
	"deny" in command.lists_folded
}

command_faults contains "command_hides" if {
	some command in input.facts.shell.seen
	some problem in command.problems
	problem in {"alias", "environment", "format_character", "git_config", "network_redirect"}
}

# Whoever looks at the first line alone, or takes a backslash for an escape within
# single quotes, does not see that this runs.
command_faults contains "command_hides" if {
	some command in input.facts.shell.seen
	unlisted_command(command)
	"deceptive_quote" in command.problems
}

command_faults contains "command_hides" if {
	some command in input.facts.shell.seen
	unlisted_command(command)
	"later_line" in command.problems
	"delete" in command.effects
}

command_faults contains "command_leaves_machine" if {
	some command in input.facts.shell.seen
	unlisted_command(command)
	"network" in command.effects
}

# METADATA
# title: A person looks at commands that no list allows
# custom:
#   id: commands-listed
commands_listed := {"verdict": "fail", "reasons": ["command_not_listed"]} if {
	some command in input.facts.shell.seen
	unlisted_command(command)
}

commands_listed := {"verdict": "pass", "reasons": []} if {
	every command in input.facts.shell.commands {
		covered(command)
		count(beyond(command)) == 0
	}
}

commands_listed := {"verdict": "fail", "reasons": ["command_does_more"]} if {
	some command in input.facts.shell.seen
	count(beyond(command)) > 0
	every other in input.facts.shell.seen {
		covered(other)
	}
}

# What a listed command does that is not what its program is for.
beyond(command) := [problem |
	some problem in command.problems
	problem in {"option_writes", "redirect_writes", "script_unread", "option_runs_program", "undetermined_word", "filter_acts"}
]

unlisted_command(command) if {
	count(command.words) > 0
	command.passes == false
	count([list | some list in command.lists; list == "allow"]) == 0
}

covered(command) if "allow" in command.lists

covered(command) if count(command.words) == 0

# What it runs is looked at by itself.
covered(command) if command.passes == true
