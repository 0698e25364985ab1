package action

import (
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestValuesThatAreTheSame(t *testing.T) {
	for _, same := range [][]string{
		{"pat@customer.example", "Pat@Customer.Example", " pat@customer.example\n", "mailto:pat@customer.example", "Pat Doe <pat@customer.example>", "<pat@customer.example>",
			"pat@customer.example.", "p\u200bat@customer.example", "ｐat@customer.example"},
		{"inc-4471", "INC-4471", "\tInc-4471 ", "INC-\u200d4471"},
		{"jose\u0301", "JOS\u00c9", "jos\u00e9"},
		{"a b", "A  b", "a\u00a0b", "a\tB"},
		{"/etc/app/x", "/etc/./app//x", "/etc/app/y/../x", "/etc/app/x/"},
		{"src/x", "./src/x", "src//x"},
		{"https://host.example/A", "HTTPS://Host.example/A", "https://host.example/A/"},
		{"acme\\jdoe", "ACME\\JDoe"},
		{"straße", "STRAẞE"},
		{"σοφος", "ΣΟΦΟΣ", "σοφοσ"},
	} {
		for _, s := range same {
			if got := Normal(s); got != Normal(same[0]) {
				t.Errorf("Normal(%q) = %q, want %q as of %q", s, got, Normal(same[0]), same[0])
			}
		}
	}
}

func TestValuesThatDiffer(t *testing.T) {
	for _, pair := range [][2]string{
		{"pat@customer.example", "pat@customer.test"},
		{"pat@customer.example", "pat customer.example"},
		{"/etc/app/x", "/etc/app/X"},
		{"/a/../../b", "/a/b"},
		{"https://host.example/A", "https://host.example/a"},
		{"INC-4471", "INC-4472"},
		{"ab", "a b"},
		{"to pat@customer.example", "pat@customer.example"},
		{"", "x"},
	} {
		if Normal(pair[0]) == Normal(pair[1]) {
			t.Errorf("%q and %q both become %q", pair[0], pair[1], Normal(pair[0]))
		}
	}
}

func TestNormalIsItsOwnNormalForm(t *testing.T) {
	odd := rapid.StringOfN(rapid.SampledFrom([]rune("aA@./:<> ,\\~\u200bｐéΣςßẞİıK\u0301\ufe0f\u00a0mailto")), 0, 12, -1)
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(odd, rapid.String()).Draw(t, "s")
		once := Normal(s)
		if twice := Normal(once); twice != once {
			t.Fatalf("Normal(%q) = %q, of that %q", s, once, twice)
		}
		if !utf8.ValidString(once) {
			t.Fatalf("Normal(%q) = %q is not UTF-8", s, once)
		}
	})
}
