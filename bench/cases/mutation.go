package cases

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mutation is one way of damaging a journal.
type mutation func(*audited) error

// lineEdit damages the records of a journal; m are the groups of its sentence.
type lineEdit func(lines [][]byte, m []string) ([][]byte, error)

// edits are the sentences in which a case tells the damage, and what each does.
// The first that matches is taken; N is the number of a record.
var edits = compiled([]phrase{
	{`(first|last) (?:(\w+) )?records (?:is |are |was |were )?REMOVED`, dropEnd},
	{`records N (?:and|to|through|-) N (?:are |were )?REMOVED`, dropRange},
	{`record N (?:is |was )?REMOVED`, dropOne},
	{`(?:log|file) (?:is |was )?(?:shrunk|cut|truncated) to (\d+)`, shrink},
	{`(?:cut|truncated|torn|cut off) (?:in|inside|within) (?:middle of )?record N`, cutWithin},
	{`(?:log|file) (?:is |was )?(?:replaced by|rolled back to|restored from) (?:an? )?(?:older |earlier |old )?(?:copy|version|state|backup)`, older},
	{`records N and N (?:are |were )?(?:swapped|reordered|exchanged)`, swap},
	{`record N (?:is |was )?moved to (front|start|end)`, moveTo},
	{`record N (?:is |was )?(?:duplicated|repeated|inserted again|copied|replayed)`, repeat},
	{`record (?:is |was )?(?:inserted|added|forged) (?:after|behind) record N`, insertAfter},
	{`(?:blank|empty) line (?:is |was )?(?:inserted|added|appended)(?: after record N)?`, blankLine},
	{`(?:(?:nul|zero|null) bytes?|garbage|bytes|junk) (?:is |are |was |were )?(?:appended|added|left) ?(?:at the end)?`, appendBytes},
	{`(?:space|white ?space|tab)s? (?:is |was )?(?:added|inserted) (?:in|into|to) record N`, padRecord},
	{`keys of record N (?:are |were )?(?:reordered|swapped|in another order)`, reorderKeys},
	{`crlf|line end(?:s|ings)? (?:are |were )?(?:changed|converted)`, carriageReturns},
	{`(?:timestamps?|times?|clock) (?:of record N )?(?:is |are |was |were )?(?:moved|set|put|turned) (?:back|forward|ahead)`, moveTimes},
	{`newline (?:is |was )?replaced by a (vertical tab|space|carriage return|form feed)`, joinLines},
	{`last line has no newline`, tear},
	{`byte (?:(?:of|in) record N )?(?:is |was )?(?:flipped|changed)(?: in record N)?`, flip},
	{`(?:all|every) records? (?:is |are |was |were )?(?:rewritten|replaced|re-?hashed)|(?:log|file|chain) (?:is |was )?(?:rewritten|re-?hashed|replaced by a (?:new|forged|fresh|valid|different))`, rewriteAll},
	{`hash(?:es)? of record N (?:is |was )?CHANGED`, editHash},
	{`sequence number of record N (?:is |was )?CHANGED`, editNumber},
	{`record N (?:is |was )?CHANGED`, editRecord},
	{`(?:edit|change|alteration) (?:of|to|in) record N`, editRecord},
	{`CHANGED (?:to \w+ )?in record N`, editRecord},
	{`(?:field|outcome|decision|tool|time|value|verdict) (?:of|in) record N (?:is |was )?CHANGED`, editRecord},
})

// phrase is a sentence and its edit.
type phrase struct {
	sentence string
	edit     lineEdit
}

// sentence is a phrase ready to be matched.
type sentence struct {
	pattern *regexp.Regexp
	edit    lineEdit
}

func compiled(phrases []phrase) (out []sentence) {
	words := strings.NewReplacer("REMOVED", `(?:removed|cut|dropped|deleted|truncated|missing|lost)`,
		"CHANGED", `(?:edited|changed|altered|modified|replaced|overwritten|tampered with|flipped|forged)`, "N", `(\d+|last|middle)`)
	for _, p := range phrases {
		out = append(out, sentence{regexp.MustCompile(words.Replace(p.sentence)), p.edit})
	}
	return out
}

var (
	removed     = regexp.MustCompile(`^(?:whole )?(?:log |file )(?:is |was )?(?:removed|deleted|missing)$`)
	emptied     = regexp.MustCompile(`^(?:log|file) (?:is |was )?(?:emptied|truncated to nothing|truncated to zero)$`)
	rotated     = regexp.MustCompile(`^rotated into (two|three) files, (?:(both|all) present|(first|second|older|newer|middle|oldest|newest|last)(?: one| file)? (?:missing|removed|deleted))$`)
	segment     = regexp.MustCompile(`^(first|middle|last|oldest|newest) segment (?:of (?:an? )?(?:rotated )?log )?(?:is |was )?(?:missing|removed|deleted)$`)
	forked      = regexp.MustCompile(`copied, then (?:one|an) append to each`)
	contended   = regexp.MustCompile(`two (?:writers|processes) (?:append|write|open)`)
	appended    = regexp.MustCompile(`then (?:one append|sealed again|appended)`)
	ownHash     = regexp.MustCompile(`(?:its own|its|own) hash (?:is )?recomputed`)
	startHash   = regexp.MustCompile(`start hash replaced`)
	wholeChain  = regexp.MustCompile(`(?:all|every|whole|later|following) (?:later |following )?(?:hash|hashes|chain) (?:are |is )?(?:recomputed|rebuilt|re-?made)|chain (?:is )?(?:recomputed|rebuilt|re-?made)`)
	ordinal     = regexp.MustCompile(`\b(first|second|third|fourth|fifth|sixth|last|middle) record\b`)
	inTheMiddle = regexp.MustCompile(`\brecord in middle\b`)
)

// plainly is a sentence in lower case, without articles, and with its records
// numbered.
func plainly(text string) string {
	text = " " + strings.ToLower(strings.TrimSpace(text))
	text = strings.TrimSpace(strings.ReplaceAll(text, " the ", " "))
	text = inTheMiddle.ReplaceAllString(text, "record middle")
	return ordinal.ReplaceAllStringFunc(text, func(m string) string {
		word, _, _ := strings.Cut(m, " ")
		if i := slices.Index([]string{"first", "second", "third", "fourth", "fifth", "sixth"}, word); i >= 0 {
			word = strconv.Itoa(i + 1)
		}
		return "record " + word
	})
}

// mutationOf reads a sentence. A sentence that is not understood is no damage at
// all, so it is not supported rather than passed over.
func mutationOf(told string) (m mutation, appends bool, err error) {
	sentence := plainly(told)
	appends = appended.MatchString(sentence)
	if sentence == "" || sentence == "none" {
		return func(*audited) error { return nil }, appends, nil
	}
	if removed.MatchString(sentence) {
		return func(j *audited) error { return os.Remove(j.file()) }, appends, nil
	}
	if emptied.MatchString(sentence) {
		return func(j *audited) error { return j.rewrite(nil) }, appends, nil
	}
	if g := rotated.FindStringSubmatch(sentence); g != nil {
		return func(j *audited) error { return j.rotate(g[1], g[3]) }, appends, nil
	}
	if g := segment.FindStringSubmatch(sentence); g != nil {
		return func(j *audited) error { return j.rotate("three", g[1]) }, appends, nil
	}
	switch {
	case forked.MatchString(sentence):
		return (*audited).fork, true, nil
	case contended.MatchString(sentence):
		return (*audited).contend, true, nil
	}
	for _, e := range edits {
		if g := e.pattern.FindStringSubmatch(sentence); g != nil {
			return func(j *audited) error { return j.edit(e.edit, g, sentence) }, appends, nil
		}
	}
	return nil, false, &unsupported{fmt.Sprintf("a mutation that is not understood: %q", told)}
}

// edit damages the records and then, as far as the sentence says, mends the
// hashes like somebody who hides it.
func (j *audited) edit(e lineEdit, groups []string, sentence string) error {
	lines, err := j.lines()
	if err != nil {
		return err
	}
	before := slices.Clone(lines)
	if lines, err = e(lines, groups); err != nil {
		return err
	}
	switch {
	case startHash.MatchString(sentence), wholeChain.MatchString(sentence):
		lines, err = rechain(lines, first(before), len(lines))
	case ownHash.MatchString(sentence):
		lines, err = rehash(lines, before)
	}
	if err != nil {
		return err
	}
	return j.rewrite(lines)
}
