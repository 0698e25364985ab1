package cases

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/conjunct-project/conjunct/action"
)

// mutation is one way of damaging a journal.
type mutation func(*audited) error

// lineEdit damages the records of a journal; m are the groups of its sentence.
type lineEdit func(lines [][]byte, m []string) ([][]byte, error)

// edits are the sentences in which a case tells the damage, and what each does.
// The first that matches is taken; N is the number of a record.
var edits = compiled([]phrase{
	{`all records (?:are |were )?REMOVED (?:but|except)(?: for)? (first|last|record N)`, keepOne},
	{`last (?:line|record) (?:is |was )?(?:cut|torn) (?:in half|off|short)`, tear},
	{`records (?:are |were )?(?:put |written )?(?:in )?revers(?:e|ed)(?: order)?|order of records (?:is |was )?reversed`, reverse},
	{`chain (?:is |was )?(?:recomputed|rebuilt|re-?made|restarted|forked) (?:from|at|after|since) record N`, editRecord},
	{`record (?:is |was )?(?:inserted|added|spliced in) between (?:records? )?N and (?:record )?N`, insertAfter},
	{`(?:forged|fake|false|invented|unchained) record (?:is |was )?(?:appended|added)(?: (?:to|at) (?:end|log|file))?$`, appendForged},
	{`records? (?:with|have|has|both with) same (?:sequence|seq)(?: numbers?)?|both (?:with|have|at) (?:sequence|seq)(?: number)?`, sameNumber},
	{`(?:sequence|seq)(?: number)?s? (?:skips?|jumps?)|gap in (?:sequence|seq)(?: number)?s?`, gapInNumbers},
	{`(first|last) (?:(\w+) )?records (?:is |are |was |were )?REMOVED`, dropEnd},
	{`checkpoint (?:is )?(?:ahead of|newer than|beyond|after) (?:log|journal|file)`, dropLast},
	{`records N (?:and|to|through|-) N (?:are |were )?REMOVED`, dropRange},
	{`record N (?:is |was )?REMOVED`, dropOne},
	{`(?:log|file) (?:is |was )?(?:shrunk|cut|truncated) to (\d+)`, shrink},
	{`(?:cut|truncated|torn|cut off) (?:in|inside|within) (?:middle of )?record N`, cutWithin},
	{`(?:log|file) (?:is |was )?(?:replaced by|rolled back to|restored from) (?:an? )?(?:older |earlier |old )?(?:copy|version|state|backup)`, older},
	{`rolled back to record N`, shrink},
	{`records N and (?:record )?N (?:are |were )?SWAPPED`, swap},
	{`record N and (?:record )?N (?:are |were )?SWAPPED`, swap},
	{`(?:two|neighbouring|adjacent|last two) records (?:are |were )?SWAPPED`, swapMiddle},
	{`record N (?:is |was )?moved (?:to )?(front|start|end)`, moveTo},
	{`record N (?:is |was )?moved (before|after|behind|in front of) record N`, moveBeside},
	{`record N (?:is |was )?(?:duplicated|repeated|inserted again|copied|replayed|appended (?:again|twice))`, repeat},
	{`record (?:from|of) another (?:log|journal|chain|file|trace|tenant) (?:is |was )?(?:inserted|added|spliced in|copied in)(?: (?:after|behind) record N)?`, insertAfter},
	{`record (?:is |was )?(?:inserted|added|forged) (?:after|behind) record N`, insertAfter},
	{`(?:blank|empty) line (?:is |was )?(?:inserted|added|appended)?(?: ?(?:after record N|between records N and N))?`, blankLine},
	{`(?:trailing )?(?:(?:nul|zero|null) bytes?|garbage|bytes|junk)(?: is| are| was| were)?(?: (?:appended|added|left|at end|at the end|after record N))+`, appendBytes},
	{`\bbom\b|byte order mark`, byteOrderMark},
	{`(?:space|white ?space|tab)s? (?:is |was )?(?:added|inserted) (?:in|into|to|inside|within) record N`, padRecord},
	{`(?:keys?|key order|order of keys) (?:of|in) record N (?:are |were |is |was )?(?:reordered|swapped|changed|in another order)`, reorderKeys},
	{`(?:duplicate|second|same|repeated) (?:key|field) (?:is |was )?(?:added|inserted)? ?(?:to|in|into) record N`, repeatKey},
	{`(?:\w+ )?(?:key|field) (?:is |was )?(?:added|inserted) (?:to|in|into) record N`, addKey},
	{`(?:hash|prev|previous hash|link)(?: field)? (?:is |was )?REMOVED (?:from|of|in) record N`, dropHash},
	{`(?:unicode )?escape .*record N|record N .*(?:unicode )?escape`, escapeLetter},
	{`number in record N .*(?:written|rewritten|spelled)`, respellNumber},
	{`crlf|line end(?:s|ings)? (?:are |were )?(?:changed|converted)`, carriageReturns},
	{`(?:timestamps?|times?|clock) (?:of record N )?(?:is |are |was |were )?(?:moved|set|put|turned) (?:back|forward|ahead)`, moveTimes},
	{`(?:newline|line end|line break|separator)s? (?:is |are |was |were )?replaced by (?:an? )?(vertical tab|space|carriage return|form feed|u\+2028|u\+2029|u\+0085|nel|line separator|paragraph separator)`, joinLines},
	{`(?:newline|line break)s? (?:is |are |was |were )?REMOVED|records (?:are |were )?joined (?:on|in|into|to) one line`, joinLines},
	{`last line has no newline`, tear},
	{`(?:bit|byte)s? (?:(?:of|in) record N )?(?:is |was )?(?:flipped|changed|inverted)(?: in record N)?`, flip},
	{`(?:all|every) records? (?:is |are |was |were )?(?:rewritten|replaced|re-?hashed)|(?:log|file|chain) (?:is |was )?(?:rewritten|re-?hashed|replaced by (?:an?|another) (?:new|forged|fresh|valid|different)? ?)|(?:new|fresh|another) (?:one|log|file|chain) (?:is |was )?(?:started|begun|put in its place)|^(?:whole )?(?:log|file|chain) (?:of|from) another (?:tenant|log|machine|system|agent|trace)\b`, rewriteAll},
	{`(?:prev|previous|link)(?: hash)?(?:es)? of record N (?:is |was )?(?:CHANGED|set)`, editLink},
	{`hash(?:es)? of record N (?:is |was )?CHANGED`, editHash},
	{`(?:sequence|seq)(?: number)?s? of record N (?:is |was )?(?:CHANGED|set)`, editNumber},
	{`sequence gap|record N (?:is |was )?(?:re)?numbered`, editNumber},
	{`record N (?:is |was )?CHANGED`, editRecord},
	{`(?:edit|change|alteration) (?:of|to|in) record N`, editRecord},
	{`CHANGED (?:to \w+ )?in record N`, editRecord},
	{`(?:field|outcome|decision|tool|time|value|verdict) (?:of|in) record N (?:is |was )?CHANGED`, editRecord},
	// Whatever else is done to a record, it is another one.
	{`record N\b.*(?:CHANGED|set\b|rewritten|encoded|nulled|masked|redacted|padded|extended|renamed|translated|re-?signed)`, editRecord},
	{`(?:CHANGED|set|rewritten|encoded|nulled|masked|redacted|padded|extended|renamed|re-?signed)\b.*record N`, editRecord},
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
		"SWAPPED", `(?:swapped|reordered|exchanged|transposed)`,
		"CHANGED", `(?:edited|changed|altered|modified|replaced|overwritten|tampered with|flipped|forged|zeroed|cleared|blanked|emptied)`, "N", `(\d+|last|middle)`)
	for _, p := range phrases {
		out = append(out, sentence{regexp.MustCompile(words.Replace(p.sentence)), p.edit})
	}
	return out
}

var (
	removed     = regexp.MustCompile(`^(?:whole )?(?:(?:log|journal|file) ){1,2}(?:is |was )?(?:removed|deleted|missing|renamed|moved away)$`)
	emptied     = regexp.MustCompile(`^(?:log|file) (?:is |was )?(?:emptied|replaced (?:by|with) an empty (?:file|log|one)|truncated to (?:nothing|zero|0)(?: bytes?| length)?)$`)
	untouched   = regexp.MustCompile(`^(?:nothing|none|no (?:change|mutation|damage)|unchanged|untouched|intact)$|^(?:log |file )?(?:is |was )?(?:closed and )?(?:re-?opened|opened again)(?: and closed)?(?: without writing)?$|^(?:log |file )?(?:is |was )?(?:verified|read) (?:twice|again)(?: after a restart)?$|^(?:log |file )?(?:is |was )?read by another (?:process|reader|user)$`)
	elsewhen    = regexp.MustCompile(`^(?:(?:log|file)(?:'s)? )?(?:mtime|modification time|access time) (?:is |was )?(?:changed|touched)$`)
	added       = regexp.MustCompile(`^(?:one|another) (?:more |new |further )?record (?:is |was )?appended$`)
	afterwards  = regexp.MustCompile(`(?:^|,? )(?:and )?then (?:one append|sealed again|appended)$`)
	stranger    = regexp.MustCompile(`^checkpoint (?:is |was )?(?:from|of) another (?:log|journal|chain|tenant|machine)$`)
	elsewhere   = regexp.MustCompile(`^(?:whole )?(?:log|file|journal|folder|directory) (?:is |was )?(?:copied|moved) (?:in)?to another (?:folder|directory|place|machine|disk)(?: and verified there)?$`)
	disordered  = regexp.MustCompile(`^rotated into two files, (order swapped|swapped|in wrong order|overlap of one record|one record (?:twice|in both)|gap of one record|one record (?:missing|lost) between(?: them)?)$`)
	rotated     = regexp.MustCompile(`^rotated into (two|three|four|five) files, (?:(both|all) present|(first|second|older|newer|middle|oldest|newest|last)(?: one| file)? (?:missing|removed|deleted))$`)
	segment     = regexp.MustCompile(`^(?:rotated(?: log)?, )?(first|middle|last|oldest|newest) segment (?:of (?:an? )?(?:rotated )?log )?(?:is |was )?(?:missing|removed|deleted)$`)
	forked      = regexp.MustCompile(`copied, then (?:one|an) append to each`)
	contended   = regexp.MustCompile(`two (?:writers|processes) (?:append|write|open)`)
	appended    = regexp.MustCompile(`then (?:one append|sealed again|appended)`)
	ownHash     = regexp.MustCompile(`(?:its own|its|own) hash (?:is )?recomputed`)
	startHash   = regexp.MustCompile(`start hash replaced`)
	wholeChain  = regexp.MustCompile(`(?:all|every|whole|later|following) (?:later |following )?(?:hash|hashes|chain) (?:are |is )?(?:recomputed|rebuilt|re-?made)|chain (?:is )?(?:recomputed|rebuilt|re-?made)`)
	ordinal     = regexp.MustCompile(`\b(first|second|third|fourth|fifth|sixth|last|middle) record\b`)
	entry       = regexp.MustCompile(`\b(?:entry|event|row|block)(s?)\b`)
	undone      = regexp.MustCompile(`(?:and|then) (?:restored|reverted|undone|put back|changed back)\b|\b(?:in|to) an? copy\b|^an? copy of (?:log|file|journal)\b`)
	inTheMiddle = regexp.MustCompile(`\brecord in middle\b`)
)

// plainly is a sentence in lower case, without articles, and with its records
// numbered.
func plainly(text string) string {
	text = " " + strings.ToLower(strings.TrimSpace(text))
	text = strings.TrimSpace(strings.ReplaceAll(text, " the ", " "))
	text = entry.ReplaceAllString(strings.ReplaceAll(text, "entries", "records"), "record$1")
	text = strings.ReplaceAll(text, "genesis record", "first record")
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
	appends = appended.MatchString(sentence) || added.MatchString(sentence)
	if sentence = afterwards.ReplaceAllString(sentence, ""); added.MatchString(sentence) {
		sentence = ""
	}
	if sentence == "" || untouched.MatchString(sentence) {
		return func(*audited) error { return nil }, appends, nil
	}
	if elsewhen.MatchString(sentence) {
		return func(j *audited) error { return os.Chtimes(j.file(), time.Unix(0, 0), time.Unix(0, 0)) }, appends, nil
	}
	if stranger.MatchString(sentence) {
		return func(j *audited) error { j.head = action.Hash([]byte("another")); return nil }, appends, nil
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
	if g := disordered.FindStringSubmatch(sentence); g != nil {
		return func(j *audited) error { return j.disorder(g[1]) }, appends, nil
	}
	switch {
	case undone.MatchString(sentence):
		return nil, false, &unsupported{fmt.Sprintf("a mutation of which not everything stays: %q", told)}
	case elsewhere.MatchString(sentence):
		return (*audited).move, appends, nil
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
	before, whole := slices.Clone(lines), bytes.Join(lines, nil)
	if lines, err = e(lines, groups); err != nil {
		return err
	}
	if bytes.Equal(bytes.Join(lines, nil), whole) {
		return &unsupported{"the mutation changes nothing: " + sentence}
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
