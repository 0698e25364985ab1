package signals

import (
	"context"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/conjunct-project/conjunct/engine"
)

// networkFacts computes the family network: every host that a call names, in an
// argument that is an address on the network or a mail address, or as a word of a
// command. A command with a network effect whose host no word tells is unknown.
func networkFacts(d *Detector, ctx context.Context, c *Call, w World) (map[string]any, []Unknown) {
	h := hosts{lists: d.hosts}
	for _, name := range c.given() {
		h.value(engine.Pointer(name), c.Action.Arguments[name], c.Tool.Arguments[name].Kind == engine.URLKind)
	}
	for _, one := range d.script(ctx, c, w).commands {
		h.command(one)
	}
	for _, u := range d.script(ctx, c, w).unknown {
		h.unknown = append(h.unknown, Unknown{Family: Network, Code: u.Code, Where: u.Where})
	}
	facts := map[string]any{"seen": nonNilList(h.seen)}
	if len(h.unknown) == 0 {
		facts["hosts"] = nonNilList(h.seen)
	}
	return facts, h.unknown
}

func nonNilList(list []any) []any {
	if list == nil {
		return []any{}
	}
	return list
}

// hosts collects what a call talks to.
type hosts struct {
	lists   []hostList
	seen    []any
	unknown []Unknown
}

// value looks at an argument. One that the registry calls an address has to be
// one; any other text counts only when all of it is.
func (h *hosts) value(at string, v any, address bool) {
	switch v := v.(type) {
	case string:
		h.text(at, v, address)
	case []any:
		for _, e := range v {
			h.value(at, e, address)
		}
	case map[string]any:
		if address {
			h.unknown = append(h.unknown, Unknown{Family: Network, Code: "not_an_address", Where: at})
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			h.text(at, k, false)
			h.value(at, v[k], false)
		}
	default:
		if address {
			h.unknown = append(h.unknown, Unknown{Family: Network, Code: "not_an_address", Where: at})
		}
	}
}

func (h *hosts) text(at, text string, address bool) {
	if scheme, host, ok := addressed(text); ok {
		h.add(at, scheme, host)
		return
	}
	if host, ok := mailed(text); ok && !address {
		h.add(at, "mailto", host)
		return
	}
	if address {
		h.unknown = append(h.unknown, Unknown{Family: Network, Code: "not_an_address", Where: at})
	}
}

// command looks for hosts among the words of a command.
func (h *hosts) command(c *invocation) {
	found, far := false, slices.Contains(c.effects, "network")
	for i, w := range c.words {
		if w.open {
			continue
		}
		scheme, host, ok := addressed(w.text)
		if !ok && i > 0 && far {
			scheme, host, ok = remoteHost(w.text)
		}
		switch {
		case ok:
			h.add(c.argument, scheme, host)
			found = true
		case i > 0 && far:
			h.candidate(c.argument, w.text)
		}
	}
	if far && !found {
		h.unknown = append(h.unknown, Unknown{Family: Network, Code: "host_undetermined", Where: c.argument})
	}
}

// candidate notes a word of a command with a network effect that may be a host, as
// its program reads it, where a list names that host. Whether it is one is not
// known, so a command that has no other says nothing of where it goes.
func (h *hosts) candidate(at, word string) {
	if i := strings.LastIndexByte(word, '='); i >= 0 {
		word = word[i+1:]
	}
	word = strings.TrimLeft(word, "@")
	if i := strings.IndexAny(word, "/:"); i >= 0 {
		word = word[:i]
	}
	if !strings.Contains(word, ".") || strings.HasPrefix(word, "-") || strings.HasPrefix(word, ".") {
		return
	}
	host, _ := canonicalHost(word)
	if slices.ContainsFunc(h.lists, func(l hostList) bool { return l.names(host) }) {
		h.add(at, "", word)
	}
}

// addressed reads an address with a scheme.
func addressed(text string) (scheme, host string, ok bool) {
	if !strings.Contains(text, "//") {
		return "", "", false
	}
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme == "file" {
		return "", "", false
	}
	return strings.ToLower(u.Scheme), u.Hostname(), true
}

// remoteHost reads user@host:path, as ssh and scp have it.
func remoteHost(text string) (scheme, host string, ok bool) {
	before, _, _ := strings.Cut(text, ":")
	_, host, ok = strings.Cut(before, "@")
	return "ssh", host, ok && host != "" && !strings.ContainsAny(host, "/ ")
}

// mailed reads a mail address.
func mailed(text string) (host string, ok bool) {
	local, host, ok := strings.Cut(strings.TrimSpace(text), "@")
	if !ok || local == "" || strings.ContainsAny(text, " \t\n/<>,;") || !strings.Contains(host, ".") {
		return "", false
	}
	return host, true
}

func (h *hosts) add(at, scheme, declared string) {
	host, problems := canonicalHost(declared)
	if host == strings.ToLower(declared) && slices.ContainsFunc(h.lists, func(l hostList) bool { return slices.Contains(l.hosts, host) }) {
		// Whoever wrote the list named it so.
		problems = slices.DeleteFunc(problems, func(p string) bool { return p == "internal_address" || p == "literal_address" })
	}
	if strings.Contains(host, "xn--") && slices.ContainsFunc(h.lists, func(l hostList) bool { return slices.Contains(l.hosts, host) }) {
		// It is the listed name, and not one that looks like it.
		problems = slices.DeleteFunc(problems, func(p string) bool { return p == "international_name" })
	}
	entry := map[string]any{"argument": at, "scheme": scheme, "host": host, "problems": textList(problems)}
	on := []any{}
	for _, l := range h.lists {
		if l.holds(host) {
			on = append(on, l.name)
		}
	}
	entry["lists"] = on
	h.seen = append(h.seen, entry)
}

// canonicalHost is a host's name as name servers see it: lower case, without a
// last dot, in its ASCII form. An address is in its usual form, however it is
// written.
func canonicalHost(declared string) (host string, problems []string) {
	host = strings.TrimSuffix(strings.ToLower(declared), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		return canonicalAddress(ip), append(ofAddress(ip), "literal_address")
	}
	ascii, err := idna.Lookup.ToASCII(host)
	if err == nil && ascii != host {
		problems = append(problems, "international_name")
	}
	if ip, ok := numericAddress(ascii); ok && err == nil {
		return canonicalAddress(ip), append(append(problems, ofAddress(ip)...), "literal_address")
	}
	if err != nil {
		return host, append(problems, "not_a_name")
	}
	// Some resolvers read these as addresses.
	if ascii != "" && strings.Trim(ascii, "0123456789abcdefx.") == "" && strings.ContainsAny(ascii[:1], "0123456789") {
		problems = append(problems, "literal_address")
	}
	return ascii, problems
}

// canonicalAddress is the usual form of an address; of one that only wraps one of
// version 4, of that.
func canonicalAddress(ip netip.Addr) string { return ip.Unmap().String() }

func ofAddress(ip netip.Addr) []string {
	ip = ip.Unmap()
	if ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() {
		return []string{"internal_address"}
	}
	return nil
}

// numericAddress reads the forms of addresses that resolvers take besides the usual
// one: of fewer parts, the last of which fills what is left, and in octal or
// hexadecimal.
func numericAddress(name string) (netip.Addr, bool) {
	parts := strings.Split(name, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	value := uint64(0)
	for i, part := range parts {
		if part == "" || strings.ContainsAny(part, "_+-") || part[0] < '0' || part[0] > '9' {
			return netip.Addr{}, false
		}
		n, err := strconv.ParseUint(part, 0, 32)
		last := i == len(parts)-1
		limit := uint64(0xff)
		if last {
			limit = 1<<(8*(5-len(parts))) - 1
		}
		if err != nil || n > limit {
			return netip.Addr{}, false
		}
		if last {
			value = value<<(8*(5-len(parts))) | n
		} else {
			value = value<<8 | n
		}
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

// hostList is a named list of hosts.
type hostList struct {
	name  string
	hosts []string
}

// holds reports whether a host is on the list: as it is named, below an entry
// that begins with a star and a dot, or any, for a lone star.
func (l hostList) holds(host string) bool {
	return slices.ContainsFunc(l.hosts, func(entry string) bool {
		if below, ok := strings.CutPrefix(entry, "*."); ok {
			return strings.HasSuffix(host, "."+below)
		}
		return entry == "*" || entry == host
	})
}

// names reports whether the list holds a host for what it is, and not for being
// any.
func (l hostList) names(host string) bool {
	return slices.ContainsFunc(l.hosts, func(entry string) bool { return entry != "*" }) &&
		hostList{l.name, slices.DeleteFunc(slices.Clone(l.hosts), func(entry string) bool { return entry == "*" })}.holds(host)
}

// hostLists reads the scope's lists of hosts.
func hostLists(scope Scope) (lists []hostList, problems []ScopeProblem) {
	for _, name := range slices.Sorted(maps.Keys(scope.Hosts)) {
		l := hostList{name: name}
		for _, entry := range scope.Hosts[name] {
			stem := strings.TrimPrefix(entry, "*.")
			host, faults := canonicalHost(stem)
			if entry != "*" && (host == "" || slices.Contains(faults, "not_a_name") || strings.ContainsAny(stem, "*/:")) && !isAddress(stem) {
				problems = append(problems, ScopeProblem{Path: []string{"hosts", name}, Message: "\"" + entry + "\" is no host",
					Hint: "a name as example.org, *.example.org for those below it, or an address"})
				continue
			}
			if entry != "*" {
				entry = strings.TrimSuffix(entry, stem) + host
			}
			l.hosts = append(l.hosts, entry)
		}
		lists = append(lists, l)
	}
	return lists, problems
}

func isAddress(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}
