# What must stay secret is neither written nor sent, in whatever encoding.
package conjunct.gates

# METADATA
# title: No secret is written or sent
# custom:
#   id: secrets-kept
#   owasp: LLM02:2025
secrets_kept := {"verdict": "fail", "reasons": ["secret_found"]} if {
	some finding in input.facts.secret.seen
	finding.certainty == "secret"
}

secrets_kept := {"verdict": "pass", "reasons": []} if {
	every finding in input.facts.secret.findings {
		finding.certainty != "secret"
	}
}

# METADATA
# title: A person looks at what may be a secret
# custom:
#   id: secrets-possible
secrets_possible := {"verdict": "fail", "reasons": ["secret_possible"]} if {
	some finding in input.facts.secret.seen
	finding.certainty != "secret"
}

secrets_possible := {"verdict": "pass", "reasons": []} if {
	every finding in input.facts.secret.findings {
		finding.certainty == "secret"
	}
}
