package signals

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/conjunct-project/conjunct/action"
)

// Values that scanners take for secrets are put together here, so that those that
// read this repository do not. None of them was ever issued.
var made = map[string]string{
	"AWS":       "AK" + "IAZ5QPT7KD2M4WN6XH",
	"AWS9":      "AK" + "IA8R1Q9P0D7M2WN6X3",
	"GITHUB":    "gh" + "p_9fKd02LmQxZ7Tb4RvNc1WyHs8JgEa5UpXoVi",
	"GITLAB":    "glp" + "at-x9Kd02LmQxZ7Tb4RvNc1",
	"SLACK":     "xo" + "xb-263594206564-2343594206574-FGqddMF8t08v8N7Oq4i57vs1",
	"STRIPE":    "sk_" + "live_9fKd02LmQxZ7Tb4RvNc1WyHs",
	"ANTHROPIC": "sk-" + "ant-api03-" + strings.Repeat("aB3_xY9-kL", 9) + "qWe" + "AA",
	"PASSWORD":  "Qx7+Lm2/Vt9_Rw4pZ",
	"HEX":       "9f86d081884c7d65" + "9a2feaa0c55ad015",
	"KEY":       "-----BEGIN RSA PRIV" + "ATE KEY-----\nMIIEowIBAAKCAQEA7Qx7Lm2Vt9Rw4pZ0aB3xY9kLqWe\n",
	"KEYHEAD":   "-----BEGIN PRIV" + "ATE KEY-----",
	"JWT":       base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"42","name":"Ines"}`)) + ".c2lnbmF0dXJlLW9mLXRoZS10b2tlbi1oZXJl",
}

// assemble puts the made values where a text names them.
func assemble(t testing.TB, v any) any {
	switch v := v.(type) {
	case string:
		for name, value := range made {
			v = strings.ReplaceAll(v, "{"+name+"}", value)
		}
		for name, encode := range encodings {
			for {
				before, rest, ok := strings.Cut(v, "{"+name+":")
				if !ok {
					break
				}
				inner, after, ok := strings.Cut(rest, "}")
				if !ok {
					t.Fatalf("no end of {%s: in %q", name, v)
				}
				v = before + encode(inner) + after
			}
		}
		return v
	case []any:
		for i := range v {
			v[i] = assemble(t, v[i])
		}
	case map[string]any:
		for _, k := range sortedKeys(v) {
			inner := assemble(t, v[k])
			delete(v, k)
			v[assemble(t, k).(string)] = inner
		}
	}
	return v
}

// encodings are what the tests write secrets in.
var encodings = map[string]func(string) string{
	"b64":     func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"b64raw":  func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte(s)) },
	"b64url":  func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) },
	"b64wrap": func(s string) string { return wrap(base64.StdEncoding.EncodeToString([]byte(s)), 12) },
	"b64spaced": func(s string) string {
		return strings.ReplaceAll(wrap(base64.StdEncoding.EncodeToString([]byte(s)), 4), "\n", " ")
	},
	"qp":      func(s string) string { return each(s, "=%02X") },
	"hex":     func(s string) string { return hex.EncodeToString([]byte(s)) },
	"HEX":     func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
	"b32":     func(s string) string { return base32.StdEncoding.EncodeToString([]byte(s)) },
	"percent": func(s string) string { return each(s, "%%%02X") },
	"query":   url.QueryEscape,
	"u":       func(s string) string { return each(s, `\u%04x`) },
	"x":       func(s string) string { return each(s, `\x%02x`) },
	"octal":   func(s string) string { return each(s, `\%03o`) },
	"entity":  func(s string) string { return each(s, "&#%d;") },
	"codes":   func(s string) string { return strings.TrimSuffix(each(s, "%d, "), ", ") },
	"hexlist": func(s string) string { return strings.TrimSuffix(each(s, "0x%02x, "), ", ") },
	"xxd":     func(s string) string { return strings.TrimSpace(each(s, "%02x ")) },
	"gzip": func(s string) string {
		return packed(s, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
	},
	"zlib": func(s string) string {
		return packed(s, func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) })
	},
	"deflate": func(s string) string {
		return packed(s, func(w io.Writer) io.WriteCloser {
			f, _ := flate.NewWriter(w, flate.BestCompression)
			return f
		})
	},
	"hexdump": func(s string) string { return hex.Dump([]byte(s)) },
	"back":    backToFront,
	"rot13":   func(s string) string { return strings.Map(rot13, s) },
	"utf16le": func(s string) string { return wide("\xff\xfe", s, 0) },
	"utf16be": func(s string) string { return wide("\xfe\xff", s, 1) },
	"utf16":   func(s string) string { return wide("", s, 0) },
}

func each(s, format string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, format, s[i])
	}
	return b.String()
}

func wrap(s string, n int) string {
	var b strings.Builder
	for ; len(s) > n; s = s[n:] {
		b.WriteString(s[:n] + "\n")
	}
	return b.String() + s
}

func packed(s string, pack func(io.Writer) io.WriteCloser) string {
	var b bytes.Buffer
	w := pack(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func wide(mark, s string, high int) string {
	b := []byte(mark)
	for _, u := range utf16.Encode([]rune(s)) {
		pair := []byte{byte(u), byte(u >> 8)}
		b = append(b, pair[high], pair[1-high])
	}
	return base64.StdEncoding.EncodeToString(b)
}

func base64Text(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// lines reads a data file of one case a line; lines that begin with # are for
// people.
func lines[T any](t testing.TB, file string) (cases []T) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	for n := 1; in.Scan(); n++ {
		if line := strings.TrimSpace(in.Text()); line != "" && !strings.HasPrefix(line, "#") {
			var c T
			d := json.NewDecoder(strings.NewReader(line))
			d.DisallowUnknownFields()
			if err := d.Decode(&c); err != nil {
				t.Fatalf("%s:%d: %v", file, n, err)
			}
			cases = append(cases, c)
		}
	}
	if len(cases) == 0 {
		t.Fatalf("%s: no cases", file)
	}
	return cases
}

// verdict is what a family's list comes to: the surest certainty in it, clean, or
// unknown with the codes.
func verdict(facts map[string]any, list, sure string, unknown []string) string {
	found := "clean"
	rows, conclusive := facts[list].([]any)
	if !conclusive {
		found = "unknown"
	}
	seen, _ := facts["seen"].([]any)
	if conclusive && len(rows) != len(seen) || conclusive != (len(unknown) == 0) {
		return "inconsistent"
	}
	for _, r := range rows {
		if r.(map[string]any)["certainty"] == sure {
			return sure
		}
		found = "possible"
	}
	return found
}

func TestSecrets(t *testing.T) {
	type secretCase struct {
		Name string
		Args map[string]any
		Text string // short for one argument with content
		Want string
		Rule string
	}
	for _, c := range lines[secretCase](t, "testdata/secret/cases.jsonl") {
		if c.Text != "" {
			c.Args = map[string]any{"path": "notes.txt", "content": c.Text}
		}
		args := assemble(t, c.Args).(map[string]any)
		got, unknown := facts(t, Secret, Scope{}, call(args), World{})
		if v := verdict(got, "findings", "secret", unknown); v != c.Want {
			t.Errorf("%s: got %s, want %s: %v %v\n%v", c.Name, v, c.Want, got["seen"], unknown, args)
		}
		if c.Rule != "" && !strings.Contains(fmt.Sprint(got["seen"]), "rule:"+c.Rule) {
			t.Errorf("%s: rule %s is not in %v", c.Name, c.Rule, got["seen"])
		}
		told := fmt.Sprint(got, unknown)
		for name, value := range made {
			if strings.Contains(told, value) {
				t.Errorf("%s: the facts tell %s", c.Name, name)
			}
		}
		canonicalises(t, got)
	}
}

// canonicalises fails where facts cannot be written into the journal.
func canonicalises(t testing.TB, facts map[string]any) {
	t.Helper()
	if _, err := action.CanonicalValue(map[string]any(facts)); err != nil {
		t.Errorf("%v: %v", facts, err)
	}
}

// TestNestedEncodings: a secret is found in whatever encodings, one inside
// another, up to the depth that is promised.
func TestNestedEncodings(t *testing.T) {
	names := []string{"b64", "b64raw", "b64url", "b64wrap", "hex", "HEX", "percent", "query", "u", "x", "gzip", "zlib", "utf16le", "utf16be", "entity"}
	rapid.Check(t, func(t *rapid.T) {
		text := "id: " + made["AWS9"] + " end"
		depth := rapid.IntRange(0, 4).Draw(t, "depth")
		var used []string
		for size := 0; size < depth; size++ {
			if len(text) > 4000 {
				break
			}
			name := rapid.SampledFrom(names).Draw(t, "encoding")
			used = append(used, name)
			text = encodings[name](text)
		}
		text = rapid.SampledFrom([]string{"", "data=", "x ", "\"", "see:\n", "value/"}).Draw(t, "before") + text
		d := Detector{need: []Family{Secret}, scanner: sharedScanner}
		got, unknown := d.Facts(context.Background(), call(map[string]any{"content": text}), World{})
		if seen := fmt.Sprint(got); !strings.Contains(seen, "rule:aws-access-token") {
			t.Errorf("%v: got %v %v", used, seen, unknown)
		}
	})
}

// TestInvisibleCharacters: a character that shows nothing hides nothing, wherever
// it stands.
func TestInvisibleCharacters(t *testing.T) {
	hidden := []rune{0x200b, 0x200c, 0x200d, 0x2060, 0xfeff, 0xad, 0x200e, 0x202e, 0x2066, 0xfe0f, 0x34f, 0xe0041, 0x3164, 0x180e, 0x7}
	rapid.Check(t, func(t *rapid.T) {
		text := []rune("key " + made["AWS"] + " end")
		for range rapid.IntRange(1, 8).Draw(t, "many") {
			at := rapid.IntRange(0, len(text)).Draw(t, "at")
			text = append(text[:at:at], append([]rune{rapid.SampledFrom(hidden).Draw(t, "char")}, text[at:]...)...)
		}
		d := Detector{need: []Family{Secret}, scanner: sharedScanner}
		got, _ := d.Facts(context.Background(), call(map[string]any{"content": string(text)}), World{})
		if seen := fmt.Sprint(got); !strings.Contains(seen, "certainty:secret") {
			t.Errorf("%q: got %v", string(text), seen)
		}
	})
}

// TestPlainWords: encoded words are no secrets.
func TestPlainWords(t *testing.T) {
	words := strings.Fields("the refund key of an account is not kept here because nobody asked for token storage in this release candidate")
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 3, 30).Draw(t, "words"), " ")
		for range rapid.IntRange(0, 3).Draw(t, "depth") {
			text = encodings[rapid.SampledFrom([]string{"b64", "hex", "percent", "gzip", "b64wrap"}).Draw(t, "encoding")](text)
		}
		d := Detector{need: []Family{Secret}, scanner: sharedScanner}
		got, unknown := d.Facts(context.Background(), call(map[string]any{"content": text}), World{})
		m := got["secret"].(map[string]any)
		if v := verdict(m, "findings", "secret", unknown); v != "clean" {
			t.Errorf("%q: got %s %v %v", text, v, m, unknown)
		}
	})
}

func TestSecretLimits(t *testing.T) {
	deep := "id: " + made["AWS"]
	for range maxDecodings + 2 {
		deep = base64Text(deep)
	}
	for name, c := range map[string]struct {
		args map[string]any
		want string
	}{
		"too deep":               {map[string]any{"content": deep}, "secret: too_deep at /content"},
		"too large":              {map[string]any{"content": strings.Repeat("words ", maxText/6+1)}, "secret: too_large at /content"},
		"large when unpacked":    {map[string]any{"content": encodings["gzip"](strings.Repeat("words ", maxText/6+1))}, "secret: too_large at /content"},
		"sealed":                 {map[string]any{"content": base64Text("7z\xbc\xaf\x27\x1c" + strings.Repeat("\x00\x01\x02\x03", 20))}, "secret: packed at /content"},
		"not base64":             {map[string]any{"content_base64": "%%%"}, "secret: not_base64 at /content_base64"},
		"base64 that is no text": {map[string]any{"content_base64": 7.0}, "secret: not_base64 at /content_base64"},
	} {
		got, unknown := facts(t, Secret, Scope{}, call(c.args), World{})
		if strings.Join(unknown, "; ") != c.want || got["findings"] != nil {
			t.Errorf("%s: got %v, want %s", name, unknown, c.want)
		}
	}
	d, _ := New(Scope{}, []Family{Secret})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got, unknown := d.Facts(ctx, call(map[string]any{"content": "plain words"}), World{}); got["secret"] != nil || len(unknown) == 0 {
		t.Errorf("cancelled: got %v %v", got, unknown)
	}
}

// FuzzSecret: no panic, the same facts each time, and a journal can hold them.
func FuzzSecret(f *testing.F) {
	for _, encode := range encodings {
		f.Add(encode("id: "+made["AWS"]), "argument")
	}
	f.Add("\xff\xfe", "token")
	d, _ := New(Scope{}, []Family{Secret})
	f.Fuzz(func(t *testing.T, text, name string) {
		text, name = strings.ToValidUTF8(text, "?"), strings.ToValidUTF8(name, "?")
		c := call(map[string]any{name: text, "content": []any{text, map[string]any{name: text}}})
		one, unknown := d.Facts(context.Background(), c, World{})
		two, again := d.Facts(context.Background(), c, World{})
		if fmt.Sprint(one, unknown) != fmt.Sprint(two, again) {
			t.Errorf("two answers: %v %v", one, two)
		}
		if strings.Contains(fmt.Sprint(unknown), "panic") {
			t.Error(unknown)
		}
		canonicalises(t, one)
	})
}

func TestScannerConcurrently(t *testing.T) {
	d, _ := New(Scope{}, []Family{Secret})
	done := make(chan string)
	for i := range 8 {
		go func() {
			got, _ := d.Facts(context.Background(), call(map[string]any{"content": fmt.Sprintf("%d token=%s", i, made["GITHUB"])}), World{})
			done <- fmt.Sprint(got)
		}()
	}
	first := <-done
	for range 7 {
		if got := <-done; got != first {
			t.Errorf("got %s, want %s", got, first)
		}
	}
}

func TestLookalikes(t *testing.T) {
	for r, l := range lookalikes() {
		if r < 0x80 || l >= 0x80 {
			t.Errorf("%c is folded to %c", r, l)
		}
	}
}
