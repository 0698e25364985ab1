package engine

import (
	"strings"
	"testing"
)

func TestDidYouMeanNamesTheNearestWordOrNothing(t *testing.T) {
	known := []string{"reversible", "costly", "irreversible", "read", "execute_notify"}
	for word, want := range map[string]string{
		"reversable":     "reversible",
		"irreversibel":   "irreversible",
		"costy":          "costly",
		"raed":           "read",
		"costly":         "costly",
		"COSTLY":         "costly",
		"Execute-Notify": "execute_notify",
		"execute notify": "execute_notify",
		"executenotify":  "execute_notify",
		"":               "",
		"x":              "",
		"something else": "",
		"rd":             "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
		hint := ""
		if want != "" {
			hint = `did you mean "` + want + `"?`
		}
		if got := DidYouMean(word, known); got != hint {
			t.Errorf("DidYouMean(%q) = %q, want %q", word, got, hint)
		}
	}
	if got := Nearest("a", nil); got != "" {
		t.Errorf("Nearest among nothing = %q, want nothing", got)
	}
	if got := Nearest("bat", []string{"cat", "hat"}); got != "cat" {
		t.Errorf("Nearest among equals = %q, want the first", got)
	}
	if got := Nearest("bat", []string{"cat", "bats", "bat"}); got != "bat" {
		t.Errorf("Nearest with a word that is the same = %q, want that word", got)
	}
	long := strings.Repeat("x", 64)
	if got := Nearest(long, []string{long + "y"}); got != long+"y" {
		t.Errorf("Nearest of 64 bytes = %q, want the word beside it", got)
	}
	if got := Nearest(long+"x", []string{long + "x"}); got != "" {
		t.Errorf("Nearest of 65 bytes = %q, want nothing: it is not compared", got)
	}
}

func TestEditDistanceCountsEditsAndSwaps(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2},
		{"ab", "ba", 1}, {"abcd", "acbd", 1}, {"abcd", "badc", 2}, {"ca", "abc", 3}, {"abc", "axc", 1}, {"abc", "abcd", 1}, {"abcd", "bcd", 1},
	} {
		if got := editDistance(c.a, c.b); got != c.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := editDistance(c.b, c.a); got != c.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", c.b, c.a, got, c.want)
		}
	}
}
