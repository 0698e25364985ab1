package signals

import (
	"regexp"
	"sync"
)

// pattern is a regular expression that is compiled when it is first used: a
// program that computes no facts should not wait for a hundred of them. It is safe
// for concurrent use.
type pattern func() *regexp.Regexp

// re makes a pattern.
func re(text string) pattern {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

func (p pattern) MatchString(s string) bool                  { return p().MatchString(s) }
func (p pattern) FindString(s string) string                 { return p().FindString(s) }
func (p pattern) FindStringIndex(s string) []int             { return p().FindStringIndex(s) }
func (p pattern) FindStringSubmatch(s string) []string       { return p().FindStringSubmatch(s) }
func (p pattern) FindAllString(s string, n int) []string     { return p().FindAllString(s, n) }
func (p pattern) ReplaceAllString(s, with string) string     { return p().ReplaceAllString(s, with) }
func (p pattern) FindAllStringIndex(s string, n int) [][]int { return p().FindAllStringIndex(s, n) }
func (p pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p().FindAllStringSubmatch(s, n)
}
func (p pattern) ReplaceAllStringFunc(s string, f func(string) string) string {
	return p().ReplaceAllStringFunc(s, f)
}
