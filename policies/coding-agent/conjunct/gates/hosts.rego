# Where a call sends something, or gets it from.
package conjunct.gates

# METADATA
# title: No host on the deny list is talked to
# custom:
#   id: hosts-bound
hosts_bound := {"verdict": "fail", "reasons": ["host_denied"]} if {
	some host in input.facts.network.seen
	"deny" in host.lists
}

hosts_bound := {"verdict": "pass", "reasons": []} if {
	every host in input.facts.network.hosts {
		count([list | some list in host.lists; list == "deny"]) == 0
	}
}
