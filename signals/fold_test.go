package signals

import "testing"

// Names that some file system takes for one have one fold, and a fold has no more
// parts than the name.
func TestFold(t *testing.T) {
	for name, want := range map[string]string{
		".AGENT/Settings.JSON": ".agent/settings.json",
		".ａｇｅｎｔ":               ".agent",
		"ﬁle":                  "file",
		"cafe\u0301":           "caf\u00e9",
		"STRASSE":              "strasse",
		"stra\u00dfe":          "strasse",
		"\u212aeys":            "keys",
		".a\u200bgent":         ".agent",
		"a\uff0fb":             "a\uff0fb",
		"\u043fример":          "\u043fример",
	} {
		if got := fold(name); got != want {
			t.Errorf("fold(%q) = %q, want %q", name, got, want)
		}
		if got := fold(fold(name)); got != want {
			t.Errorf("fold(fold(%q)) = %q, want %q", name, got, want)
		}
	}
}
