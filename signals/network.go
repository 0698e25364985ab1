package signals

import (
	"context"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
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
		if ok {
			h.add(c.argument, scheme, host)
			found = true
		}
	}
	if far && !found {
		h.unknown = append(h.unknown, Unknown{Family: Network, Code: "host_undetermined", Where: c.argument})
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
// last dot, in its ASCII form.
func canonicalHost(declared string) (host string, problems []string) {
	host = strings.TrimSuffix(strings.ToLower(declared), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() {
			problems = append(problems, "internal_address")
		}
		return ip.Unmap().String(), append(problems, "literal_address")
	}
	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil || net.ParseIP(ascii) != nil {
		return host, append(problems, "not_a_name")
	}
	if ascii != host {
		problems = append(problems, "international_name")
	}
	// Some resolvers read these as addresses.
	if ascii != "" && strings.Trim(ascii, "0123456789abcdefx.") == "" && strings.ContainsAny(ascii[:1], "0123456789") {
		problems = append(problems, "literal_address")
	}
	return ascii, problems
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
