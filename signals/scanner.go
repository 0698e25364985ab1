package signals

import (
	"context"
	"encoding/base64"
	"math"
	"slices"
	"strings"

	"github.com/spf13/viper"
	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"
)

// certainty is how sure a finding is.
type certainty string

const (
	certain  certainty = "secret"
	possible certainty = "possible"
)

// hit is one secret in a text. The value never leaves this room.
type hit struct {
	rule      string
	value     string
	certainty certainty
}

// scanner finds secrets in plain text: gitleaks with its own rules, and a few
// rules for what those leave out. It is safe for concurrent use.
type scanner struct {
	gitleaks *detect.Detector
	// named are the rules that gitleaks limits to files of certain names: anywhere
	// else they often find what is none.
	named map[string]bool
}

// newScanner loads gitleaks' rules, which takes some 30 ms. Comments in the text
// that ask gitleaks to look away are not obeyed, and rules that gitleaks limits to
// names of files hold everywhere: the text is an agent's, and so is the name.
func newScanner() (*scanner, error) {
	v := viper.New()
	v.SetConfigType("toml")
	if err := v.ReadConfig(strings.NewReader(config.DefaultConfig)); err != nil {
		return nil, err
	}
	var raw config.ViperConfig
	if err := v.Unmarshal(&raw); err != nil {
		return nil, err
	}
	cfg, err := raw.Translate()
	if err != nil {
		return nil, err
	}
	named := map[string]bool{}
	for id, r := range cfg.Rules {
		if r.Regex != nil && r.Path != nil {
			named[id] = true
			r.Path = nil
			cfg.Rules[id] = r
		}
	}
	d := detect.NewDetector(cfg)
	d.IgnoreGitleaksAllow = true
	return &scanner{gitleaks: d, named: named}, nil
}

// scan lists the secrets in a text, without those that are only examples. It is
// complete unless the context ended.
func (s *scanner) scan(ctx context.Context, text string) (hits []hit) {
	shared, sealing := shareLinks(text), strings.Contains(text, "SealedSecret")
	// The type that takes its place belongs to a package that this release of the
	// detector does not accept yet.
	//lint:ignore SA1019 DetectContext takes this type and no other
	for _, f := range s.gitleaks.DetectContext(ctx, detect.Fragment{Raw: text}) {
		h := hit{rule: f.RuleID, value: f.Secret, certainty: certain}
		loose := s.named[f.RuleID] || strings.HasPrefix(f.RuleID, "curl-")
		if f.RuleID == "generic-api-key" && !h.assigned(f.Match) || loose && placeholder(h.value) || example(h) || f.RuleID != "generic-api-key" && spellsWords(h.value) {
			continue
		}
		if s.named[f.RuleID] {
			h.certainty = possible
		}
		hits = append(hits, h)
	}
	lower := strings.ToLower(text)
	for _, r := range ownRules {
		if slices.ContainsFunc(r.keywords, func(k string) bool { return strings.Contains(lower, k) }) {
			hits = append(hits, r.find(text)...)
		}
	}
	hits = slices.DeleteFunc(hits, func(h hit) bool {
		if sealing && (h.rule == "generic-api-key" || h.rule == "password-assignment") && sealedValue.MatchString(h.value) {
			return true
		}
		return slices.ContainsFunc(shared, func(link hit) bool { return strings.Contains(link.value, h.value) })
	})
	return append(hits, shared...)
}

// sealedValue is a value that only a cluster can open: the length of the sealed
// session key comes first.
var sealedValue = re(`^Ag[A-D][A-Za-z0-9+/]{61,}={0,2}$`)

// ownRule is a rule for what gitleaks' rules leave out.
type ownRule struct {
	id       string
	keywords []string // nothing is looked for where none of these is, in lower case
	pattern  pattern  // the secret is the group named value
	judge    func(name, value string) certainty
}

var ownRules = []ownRule{
	{
		// gitleaks holds key ids to the digits of base 32.
		id:       "aws-access-token",
		keywords: []string{"akia", "asia", "abia", "acca", "a3t"},
		pattern:  re(`(?:^|[^A-Z0-9])(?P<value>(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})(?:[^A-Z0-9]|$)`),
		judge: func(_, v string) certainty {
			return when(entropy(v) > 3 && strings.ContainsAny(v[4:], "0123456789"), certain)
		},
	},
	{
		// gitleaks looks for a whole key. The beginning of one is a key too.
		id:       "private-key",
		keywords: []string{"private key"},
		pattern:  re("(?i)-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----(?P<value>(?:\\\\+[nr]|[^A-Za-z0-9+/\"'`]){0,8}[A-Za-z0-9+/:=-]{0,64})"),
		judge: func(_, v string) certainty {
			body := strings.TrimLeft(v, "\\nr \t\r\n")
			switch {
			case strings.HasPrefix(body, "..."):
				return "" // a key is meant and not told
			case len(body) >= 4 && !strings.HasPrefix(body, "-----"):
				return certain
			case strings.ContainsAny(v, "\n\r\\"):
				return possible
			}
			return ""
		},
	},
	{
		id:       "password-assignment",
		keywords: []string{"pass", "pwd", "secret", "token", "key", "credential"},
		pattern:  re("(?i)(?:^|[^\\w.-])(?P<name>[\\w.-]{0,50}(?:passw(?:or)?d|passwd|pwd|passphrase|secret|token|api[_.-]?key|access[_.-]?key|private[_.-]?key|credentials?)[\\w.-]{0,20})[\"']?[ \t]{0,4}(?::=|=>|=|:)[ \t]{0,4}(?:\"(?P<value>[^\"\r\n]{8,200})\"|'(?P<value>[^'\r\n]{8,200})'|(?P<value>[^\\s\"'`,;()\\[\\]{}<>$&]{8,200})(?:[\\s\"'`,;&]|$))"),
		judge:    judgeAssignment,
	},
	{
		id:       "password-assignment",
		keywords: []string{"</", "login", "--"},
		pattern:  re("(?i)(?:<|--?)(?P<name>[\\w.:-]{0,40}(?:password|passwd|passphrase|secret|token|api-?key))(?:[ =]|>)[\"']?(?P<value>[^\\s<>\"'`$]{8,200})|\\blogin\\s+\\S{1,80}\\s+(?P<name>password)\\s+(?P<value>\\S{6,200})"),
		judge:    judgeAssignment,
	},
	{
		// Prefixes that vendors give to tokens, in whatever length.
		id:       "vendor-token",
		keywords: []string{"sk-", "gh", "glpat-", "xox", "npm_", "hf_", "dop_v1_", "k_live_", "shpat_", "aiza", "ya29.", "lin_api_", "figd_", "tskey-", "sntrys_", "nvapi-", "gsk_", "dckr_pat_", "nrak-", "atatt3", "sq0"},
		pattern:  re(`(?:^|[^A-Za-z0-9])(?P<value>(?:sk-|gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|npm_|hf_|dop_v1_|[rs]k_live_|shpat_|AIza|ya29\.|lin_api_|figd_|tskey-|sntrys_|nvapi-|gsk_|dckr_pat_|NRAK-|ATATT3|sq0(?:csp|atp)-)[A-Za-z0-9._-]{20,250})`),
		judge: func(_, v string) certainty {
			return when(!placeholder(v) && strings.ContainsAny(v, "0123456789") && strings.ToLower(v) != v && entropy(v) > 3.7, certain)
		},
	},
	{
		// Whoever has the address may write to the channel.
		id:       "webhook-address",
		keywords: []string{"/api/webhooks/"},
		pattern:  re(`discord(?:app)?\.com/api/webhooks/\d{5,25}/(?P<value>[A-Za-z0-9_-]{50,100})`),
		judge: func(_, v string) certainty {
			return when(!placeholder(v) && entropy(v) > 3.7, certain)
		},
	},
	{
		id:       "url-credentials",
		keywords: []string{"://"},
		pattern:  re(`[a-zA-Z][a-zA-Z0-9+.-]{1,20}://(?P<name>[^/\s:@"']{0,60}):(?P<value>[^@\s/"']{6,200})@[A-Za-z0-9\[]`),
		judge: func(_, v string) certainty {
			switch n := classes(v); {
			case placeholder(v) || strings.ContainsAny(v, "${}<>"):
				return ""
			case n >= 3 && entropy(v) > 3:
				return certain
			case n >= 2:
				return possible
			}
			return ""
		},
	},
	{
		id:       "authorization-header",
		keywords: []string{"bearer", "basic", "token "},
		pattern:  re(`(?i)\b(?:bearer|basic|token)[ \t]+(?P<value>[A-Za-z0-9._~+/=-]{16,900})`),
		judge: func(_, v string) certainty {
			return when(!placeholder(v) && classes(v) >= 3 && entropy(v) > 3.5, certain)
		},
	},
}

// find lists what a rule finds.
func (r ownRule) find(text string) (hits []hit) {
	for _, m := range r.pattern.FindAllStringSubmatch(text, -1) {
		var name, value string
		for i, group := range r.pattern().SubexpNames() {
			switch group {
			case "name":
				name += m[i]
			case "value":
				value += m[i]
			}
		}
		h := hit{rule: r.id, value: value}
		if h.certainty = r.judge(name, value); h.certainty != "" && !example(h) {
			hits = append(hits, h)
		}
	}
	return hits
}

func when(holds bool, c certainty) certainty {
	if holds {
		return c
	}
	return ""
}

// shareLink is a link whose key stands in the part that browsers do not send:
// whoever has the link may read, by design.
var shareLink = re(`https?://[^\s"'<>]+#(?:[^\s"'<>]*&)?(?:key=|json=\w+,|room=\w+,)[A-Za-z0-9_%-]{8,}[^\s"'<>]*`)

func shareLinks(text string) (hits []hit) {
	if !strings.Contains(text, "#") || !strings.Contains(text, "://") {
		return nil
	}
	for _, link := range shareLink.FindAllString(text, -1) {
		hits = append(hits, hit{rule: "share-link-key", value: link, certainty: possible})
	}
	return hits
}

var (
	// secretNames are words of a name that holds a secret.
	secretWords = []string{"pass", "password", "passwd", "pwd", "passphrase", "secret", "secrets", "token", "key", "apikey", "credential", "credentials", "creds", "auth"}
	// otherWords are last words of a name that tell something about a secret, or
	// another kind of key.
	otherWords = []string{"id", "ids", "hash", "digest", "checksum", "sha", "sha1", "sha256", "sha512", "md5", "etag", "name", "names", "path", "file", "url", "uri",
		"endpoint", "length", "len", "size", "type", "kind", "count", "version", "commit", "rev", "ref", "revision", "fingerprint", "policy", "field", "label", "prefix", "suffix",
		"pattern", "regex", "format", "header", "scope", "expiry", "ttl", "limit", "max", "min", "index", "hint", "error", "message", "prompt", "placeholder",
		"address", "addr", "arn", "alias", "issuer", "audience", "provider", "manager", "service", "store", "class", "enabled", "required", "validator", "rotation", "algorithm", "alg",
		"location", "dir", "directory", "bucket", "table", "column", "domain", "host", "port", "user", "username", "email", "title", "description", "status", "state", "expires", "duration",
		"interval", "timeout", "event", "usage"}
	// plainKeys are the words before "key" that make it a key of another kind.
	plainKeys = []string{"cache", "primary", "foreign", "public", "pub", "partition", "sort", "object", "idempotency", "i18n", "translation", "storage", "bucket", "row", "map", "hash", "dedupe", "group", "query", "registry", "lookup"}
	// issuedKeys are the words before "key" that make it one that opens something,
	// of whatever letters it is.
	issuedKeys = []string{"api", "access", "secret", "private", "encryption", "signing", "master", "auth", "session", "admin", "license"}

	// worded is a value of words and small numbers, as people name things.
	worded     = re(`^[a-z]{1,14}(?:[-_.+:/ ](?:[a-z]{1,14}|\d{1,3})){1,7}$`)
	nameWord   = re(`[A-Z]+(?:[a-z0-9]+|$)|[A-Z]+|[a-z0-9]+`)
	assignment = re(`([\w.-]+)["'` + "`" + `]?\s*(?::=|=>|=|:|,|>)`)
	identifier = re(`^(?:[0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{64}|[0-9a-fA-F]{96}|[0-9a-fA-F]{128}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$`)
	checksum   = re(`(?i)^(?:h1:|sha\d{1,3}[-:=]|md5[-:=]|blake)`)
	// code is what stands for a value in source text.
	code = re(`^[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)*(?:[\[(].*)?;?$`)
)

// assigned reports whether a generic match is a value given to a name that holds
// secrets.
func (h hit) assigned(match string) bool {
	name := match
	if before, _, ok := strings.Cut(match, h.value); ok {
		name = before
	}
	if m := assignment.FindAllStringSubmatch(name, -1); len(m) > 0 {
		name = m[len(m)-1][1]
	}
	return holdsSecret(name, h.value)
}

// holdsSecret reports whether a name is one of a secret rather than of something
// about a secret. A value that has the form of a digest or an identifier is taken
// for a secret only where the name leaves no doubt.
func holdsSecret(name, value string) bool {
	if checksum.MatchString(value) || placeholder(value) {
		return false
	}
	words := nameWord.FindAllString(name, -1)
	for i := range words {
		words[i] = strings.ToLower(words[i])
	}
	n := len(words)
	if n == 0 || slices.Contains(otherWords, words[n-1]) {
		return false
	}
	if n >= 2 && words[n-1] == "key" && slices.Contains(plainKeys, words[n-2]) {
		return false
	}
	at := slices.IndexFunc(words, func(w string) bool {
		return slices.ContainsFunc(secretWords, func(s string) bool { return w == s || len(s) > 4 && strings.HasSuffix(w, s) })
	})
	if words[n-1] == "key" && at == n-1 && (n == 1 || !slices.Contains(issuedKeys, words[n-2])) && worded.MatchString(value) {
		return false // what something is found by, a shortcut
	}
	if identifier.MatchString(value) {
		return at >= 0 && (n > 1 || words[0] != "key") && words[n-1] != "auth"
	}
	return at >= 0 || entropy(value) > 4
}

func judgeAssignment(name, v string) certainty {
	if strings.HasPrefix(v, ":") {
		return "" // a name in a name space, as in Secrets::Policy
	}
	if !holdsSecret(name, v) || code.MatchString(v) && !strings.ContainsAny(v, "0123456789") || strings.Contains(v, "://") || strings.Contains(v, " ") {
		return ""
	}
	switch n := classes(v); {
	case strings.ContainsAny(v, "(){}[]<>") && code.MatchString(v):
		return ""
	case n >= 3 && len(v) >= 12 && entropy(v) > 3:
		return certain
	case n >= 3 && entropy(v) > 2.5:
		return possible
	}
	return ""
}

var (
	// documented are values that vendors print in their own documentation.
	documented = re(`EXAMPLE|sk_test_4eC39HqLyjWDarjtT1zdp7dc|ghp_16C7e42F292c6912E7710c838347Ae178B4a|eyJzdWIiOiIxMjM0NTY3ODkwIi`)
	// standIn is what people write where a secret goes.
	standIn = re(`(?i)your|my[-_]?(?:secret|token|key|pass)|x{4,}|\*{3,}|\.{3}|placeholder|change[-_]?(?:me|it)|replace|dummy|example|sample|redacted|insert|todo|fixme|not[-_]?(?:a[-_]?)?(?:real|secret)|fake|12345678|abcdefgh|deadbeef|<[^>]*>|\$\{|\$\(|\{\{|%\(|process\.env|os\.environ|getenv|secrets\.|vault:|^\$|^%[A-Z_]+%$|^@`)
	// standInWhole are whole values that are no secrets.
	standInWhole = re(`(?i)^(?:pass(?:word|wd)?|p[a@4][s5$]{2}w[o0]rd|admin\d*|letmein|qwerty|welcome|secret|token|key|test|admin|root|user|guest|none|null|true|false|undefined|string|hunter2)[\d!@#$]{0,6}$`)
)

// placeholder reports whether a value stands in for a secret.
func placeholder(v string) bool {
	v = strings.Trim(v, "\"'`")
	return standIn.MatchString(v) || standInWhole.MatchString(v) || spelled(v) || entropy(v) < 1.5
}

// spelled reports a value that is put together of words, one of them about secrets
// or trying things out, and of small numbers: what tests and examples have.
func spelled(v string) bool {
	said := false
	for _, p := range strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune("-_. :", r) }) {
		word := strings.ToLower(strings.TrimRight(p, "0123456789"))
		switch digits := len(p) - len(word); {
		case digits > 4, word == "" && digits == 0:
			return false
		case slices.Contains(standInWords, word):
			said = true
		case word == "":
		case digits > 0, len(word) > 14, !plainWord.MatchString(p), len(word) > 2 && !strings.ContainsAny(word, "aeiouy"):
			return false
		}
	}
	return said
}

var (
	plainWord = re(`^(?:[a-z]+|[A-Z][a-z]+|[A-Z]+)$`)
	// standInWords are what people call a secret that is none.
	standInWords = strings.Fields("test tests testing mock mocked fake stub dev local demo token tokens key keys apikey api secret secrets password pass passwd pwd credential credentials " +
		"client auth jwt valid invalid expired wrong bad good new old first second other another session refresh access abc foo bar baz sk pk")
)

// example reports whether a finding is a documented example. A token of a known
// form is what its issuer made it, so words in it say little.
func example(h hit) bool {
	return documented.MatchString(h.value) || strings.Contains(h.value, "xxxxxxxx") || strings.Contains(h.value, "XXXXXXXX") || strings.Contains(h.value, "00000000")
}

// spellsWords reports a value that is plain words in base64: what begins like a
// token of a known form may be any text that begins with the same letters.
func spellsWords(value string) bool {
	raw, err := base64.RawStdEncoding.DecodeString(value[:len(value)/4*4])
	return err == nil && len(raw) >= 24 && plainWords.MatchString(string(raw))
}

var plainWords = re(`^[A-Za-z]*([ ,.;:'-]{1,2}[A-Za-z]+){3,}[ ,.;:'-]{0,2}$`)

// classes counts the kinds of characters in a text: lower case, upper case,
// digits, others.
func classes(s string) int {
	var seen [4]int
	for _, r := range s {
		switch {
		case 'a' <= r && r <= 'z':
			seen[0] = 1
		case 'A' <= r && r <= 'Z':
			seen[1] = 1
		case '0' <= r && r <= '9':
			seen[2] = 1
		default:
			seen[3] = 1
		}
	}
	return seen[0] + seen[1] + seen[2] + seen[3]
}

// entropy is Shannon's, in bits a byte.
func entropy(s string) (bits float64) {
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
