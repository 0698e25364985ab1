# What a call touches, wherever the name of it leads and whichever tool names it.
package conjunct.gates

# METADATA
# title: Nothing outside the task's roots, on the deny list or under protection is touched
# custom:
#   id: paths-bound
#   owasp: LLM06:2025
paths_bound := {"verdict": "fail", "reasons": sort(path_faults)} if {
	count(path_faults) > 0
}

paths_bound := {"verdict": "pass", "reasons": []} if {
	count(path_faults) == 0
	input.facts.path.paths
}

path_faults contains "path_outside" if {
	some path in input.facts.path.seen
	path.inside == false
	path.access != "link"
	not_above(path)
}

path_faults contains "path_denied" if {
	some path in input.facts.path.seen
	"deny" in path.lists_folded
}

path_faults contains "path_protected" if {
	some path in input.facts.path.seen
	path.access in {"write", "delete"}
	"protected" in path.lists_folded
}

path_faults contains "path_deceptive" if {
	some path in input.facts.path.seen
	some problem in path.problems
	problem in {"backslash", "format_character", "process_path"}
}

path_faults contains "path_deceptive" if {
	some path in input.facts.path.seen
	path.access in {"write", "delete"}
	"short_name" in path.problems
}

# A folder above a root shows the names in it and nothing of what they hold, so
# reading it is a matter for a person and not out of bounds.
not_above(path) if path.access != "read"

not_above(path) if path.above == false

# METADATA
# title: A person looks at paths that no list allows
# custom:
#   id: paths-listed
paths_listed := {"verdict": "fail", "reasons": ["path_not_listed"]} if {
	some path in input.facts.path.seen
	unlisted(path)
}

paths_listed := {"verdict": "pass", "reasons": []} if {
	every path in input.facts.path.paths {
		"allow" in path.lists
		count(path.problems) == 0
		count([path | takes_whole(path)]) == 0
		count([path | leads_out(path)]) == 0
	}
}

unlisted(path) if count([list | some list in path.lists; list == "allow"]) == 0

unlisted(path) if count(path.problems) > 0

# A folder that is deleted or written to as a whole may hold what is out of bounds,
# and one that is made may bring it along: cp -r, mv and ln -s do.
unlisted(path) if takes_whole(path)

unlisted(path) if leads_out(path)

# A new link that leads out reads nothing there; it is the first half of doing so.
leads_out(path) if {
	path.access == "link"
	path.inside == false
}

takes_whole(path) if {
	path.access in {"write", "delete"}
	path.exists
	path.guessed == false
	some list in path.lists_under
	list in {"deny", "protected"}
}

takes_whole(path) if {
	path.access == "write"
	path.exists == false
	"protected" in path.lists_under
	not "protected" in path.lists_folded # that is out of bounds by itself
}
