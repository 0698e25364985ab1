package cases

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/conjunct-project/conjunct/action"
)

// mutation is one way of damaging a journal.
type mutation func(*audited) error

// lineEdit damages the records of a journal; m are the groups of its sentence.
type lineEdit func(lines [][]byte, m []string) ([][]byte, error)

// edits are the sentences in which a case tells the damage, and what each does.
var edits = []struct {
	sentence *regexp.Regexp
	edit     lineEdit
}{
	{regexp.MustCompile(`(first|last) (?:(\w+) )?records? (?:is |are |was |were )?(?:removed|cut|dropped|deleted|truncated|missing)`), dropEnd},
	{regexp.MustCompile(`record (\d+) (?:is |was )?(?:removed|cut|dropped|deleted|missing)`), dropOne},
	{regexp.MustCompile(`log (?:shrunk|cut|truncated) to (\d+)`), shrink},
	{regexp.MustCompile(`records (\d+) and (\d+) (?:are |were )?(?:swapped|reordered|exchanged)`), swap},
	{regexp.MustCompile(`record (\d+) (?:is |was )?(?:duplicated|repeated|inserted again)`), repeat},
	{regexp.MustCompile(`(?:field of )?record (\d+) (?:is |was )?(?:edited|changed|altered|modified)`), editRecord},
	{regexp.MustCompile(`newline (?:is |was )?replaced by a (vertical tab|space|carriage return|form feed)`), joinLines},
	{regexp.MustCompile(`last line has no newline`), tear},
	{regexp.MustCompile(`byte (?:of record (\d+) )?(?:is |was )?(?:flipped|changed)`), flip},
}

var (
	removed    = regexp.MustCompile(`^(?:the )?(?:whole )?(?:log |file )(?:is |was )?(?:removed|deleted|missing)$`)
	emptied    = regexp.MustCompile(`^(?:the )?(?:log|file) (?:is |was )?(?:emptied|truncated to nothing)$`)
	rotated    = regexp.MustCompile(`^rotated into two files, (?:(both) present|(?:the )?(first|second|older|newer)(?: one| file)? (?:missing|removed|deleted))$`)
	appended   = regexp.MustCompile(`then (?:one append|sealed again|appended)`)
	ownHash    = regexp.MustCompile(`and its own hash recomputed`)
	startHash  = regexp.MustCompile(`start hash replaced`)
	wholeChain = regexp.MustCompile(`(?:all|every|whole|later) (?:later )?(?:hash|hashes|chain) (?:are |is )?recomputed`)
)

// mutationOf reads a sentence. A sentence that is not understood is no damage at
// all, so it is not supported rather than passed over.
func mutationOf(sentence string) (m mutation, appends bool, err error) {
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
		return func(j *audited) error { return j.rotate(g[2]) }, appends, nil
	}
	for _, e := range edits {
		if g := e.sentence.FindStringSubmatch(sentence); g != nil {
			return func(j *audited) error { return j.edit(e.edit, g, sentence) }, appends, nil
		}
	}
	return nil, false, &unsupported{fmt.Sprintf("a mutation that is not understood: %q", sentence)}
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

var errTooShort = &unsupported{"the mutation names a record that is not there"}

// counts are the numbers that sentences spell out.
var counts = map[string]int{"": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5}

func dropEnd(lines [][]byte, m []string) ([][]byte, error) {
	n, known := counts[m[2]]
	if !known {
		var err error
		if n, err = strconv.Atoi(m[2]); err != nil {
			return nil, &unsupported{fmt.Sprintf("a number that is not understood: %q", m[2])}
		}
	}
	switch {
	case n > len(lines):
		return nil, errTooShort
	case m[1] == "first":
		return lines[n:], nil
	}
	return lines[:len(lines)-n], nil
}

// at is the index of a record that a sentence numbers from one.
func at(lines [][]byte, number string) (int, error) {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(lines) {
		return 0, errTooShort
	}
	return n - 1, nil
}

func dropOne(lines [][]byte, m []string) ([][]byte, error) {
	i, err := at(lines, m[1])
	if err != nil {
		return nil, err
	}
	return slices.Delete(lines, i, i+1), nil
}

func shrink(lines [][]byte, m []string) ([][]byte, error) {
	i, err := at(lines, m[1])
	if err != nil {
		return nil, err
	}
	return lines[:i+1], nil
}

func swap(lines [][]byte, m []string) ([][]byte, error) {
	a, errA := at(lines, m[1])
	b, errB := at(lines, m[2])
	if err := errors.Join(errA, errB); err != nil {
		return nil, errTooShort
	}
	lines[a], lines[b] = lines[b], lines[a]
	return lines, nil
}

func repeat(lines [][]byte, m []string) ([][]byte, error) {
	i, err := at(lines, m[1])
	if err != nil {
		return nil, err
	}
	return slices.Insert(lines, i, lines[i]), nil
}

// editRecord changes the time of a record, which every record has.
func editRecord(lines [][]byte, m []string) ([][]byte, error) {
	i, err := at(lines, m[1])
	if err != nil {
		return nil, err
	}
	lines[i], err = change(lines[i], func(entry map[string]any) { entry["time"] = "1970-01-01T00:00:00Z" })
	return lines, err
}

func joinLines(lines [][]byte, m []string) ([][]byte, error) {
	if len(lines) < 2 {
		return nil, errTooShort
	}
	by := map[string]byte{"vertical tab": '\v', "space": ' ', "carriage return": '\r', "form feed": '\f'}[m[1]]
	i := len(lines) / 2
	lines[i-1] = append(bytes.TrimSuffix(lines[i-1], []byte("\n")), by)
	return lines, nil
}

// tear leaves half of the last record, as a crash does.
func tear(lines [][]byte, _ []string) ([][]byte, error) {
	last := lines[len(lines)-1]
	lines[len(lines)-1] = last[:len(last)/2]
	return lines, nil
}

func flip(lines [][]byte, m []string) ([][]byte, error) {
	i := len(lines) / 2
	if m[1] != "" {
		var err error
		if i, err = at(lines, m[1]); err != nil {
			return nil, err
		}
	}
	lines[i] = slices.Clone(lines[i])
	lines[i][len(lines[i])/2] ^= 1
	return lines, nil
}

// change edits an entry and writes it in its canonical form.
func change(line []byte, edit func(map[string]any)) ([]byte, error) {
	value, _, err := action.ParseEntry(bytes.TrimSuffix(line, []byte("\n")))
	if err != nil {
		return nil, err
	}
	entry, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("a record is no object")
	}
	edit(entry)
	text, err := action.CanonicalValue(entry)
	return append(text, '\n'), err
}

// sealed edits an entry and gives it the hash it should have then.
func sealed(line []byte, edit func(map[string]any)) (out []byte, hash string, err error) {
	out, err = change(line, func(entry map[string]any) {
		edit(entry)
		delete(entry, "hash")
	})
	if err != nil {
		return nil, "", err
	}
	hash = action.Hash(bytes.TrimSuffix(out, []byte("\n")))
	out, err = change(out, func(entry map[string]any) { entry["hash"] = hash })
	return out, hash, err
}

// rehash gives every record that was edited its own right hash again.
func rehash(lines, before [][]byte) ([][]byte, error) {
	for i := range lines {
		if i >= len(before) || bytes.Equal(lines[i], before[i]) {
			continue
		}
		var err error
		if lines[i], _, err = sealed(lines[i], func(map[string]any) {}); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// rechain makes the first n records a chain of their own that begins where the
// whole one did.
func rechain(lines [][]byte, start string, n int) ([][]byte, error) {
	prev := start
	for i := range lines[:n] {
		var err error
		lines[i], prev, err = sealed(lines[i], func(entry map[string]any) {
			entry["prev"], entry["seq"] = prev, float64(i+1)
			entry["durable"] = min(entry["durable"].(float64), float64(i))
		})
		if err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// first is what the first record of a journal names as the one before it.
func first(lines [][]byte) (prev string) {
	if len(lines) > 0 {
		_, _ = change(lines[0], func(entry map[string]any) { prev, _ = entry["prev"].(string) })
	}
	return prev
}

// rotate moves the older half of the records into a segment of its own, and
// removes one of the two where the sentence says so.
func (j *audited) rotate(missing string) error {
	lines, err := j.lines()
	if err != nil {
		return err
	}
	older := filepath.Join(j.dir, "journal.1.jsonl")
	half := len(lines) / 2
	if err := os.WriteFile(older, bytes.Join(lines[:half], nil), 0o600); err != nil {
		return err
	}
	if err := j.rewrite(lines[half:]); err != nil {
		return err
	}
	switch missing {
	case "first", "older":
		return os.Remove(older)
	case "second", "newer":
		return os.Remove(j.file())
	}
	return nil
}
