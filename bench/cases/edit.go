package cases

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/conjunct-project/conjunct/action"
	"github.com/conjunct-project/conjunct/pdp"
)

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

// keepOne leaves one record of all.
func keepOne(lines [][]byte, m []string) ([][]byte, error) {
	i := 0
	if m[1] != "first" {
		var err error
		if i, err = at(lines, cmp.Or(m[2], m[1])); err != nil {
			return nil, err
		}
	}
	return lines[i : i+1], nil
}

func reverse(lines [][]byte, _ []string) ([][]byte, error) {
	slices.Reverse(lines)
	return lines, nil
}

// appendForged adds a record that looks like the last one.
func appendForged(lines [][]byte, _ []string) ([][]byte, error) {
	return insertAfter(lines, []string{"", "last"})
}

// sameNumber gives a record the number of the one before it.
func sameNumber(lines [][]byte, _ []string) ([][]byte, error) {
	i := len(lines) / 2
	return set(lines, strconv.Itoa(i+1), "seq", float64(i))
}

// gapInNumbers leaves a number out.
func gapInNumbers(lines [][]byte, _ []string) ([][]byte, error) {
	i := len(lines) / 2
	return set(lines, strconv.Itoa(i+1), "seq", float64(i+2))
}

func dropLast(lines [][]byte, _ []string) ([][]byte, error) {
	if len(lines) == 0 {
		return nil, errTooShort
	}
	return lines[:len(lines)-1], nil
}

// at is the index of a record that a sentence numbers from one.
func at(lines [][]byte, number string) (int, error) {
	switch number {
	case "last":
		return len(lines) - 1, nil
	case "middle", "":
		return len(lines) / 2, nil
	}
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

func swapMiddle(lines [][]byte, _ []string) ([][]byte, error) {
	i := len(lines) / 2
	return swap(lines, []string{"", strconv.Itoa(i), strconv.Itoa(i + 1)})
}

// moveBeside puts a record before another one, or behind it.
func moveBeside(lines [][]byte, m []string) ([][]byte, error) {
	from, errFrom := at(lines, m[1])
	to, errTo := at(lines, m[3])
	if errFrom != nil || errTo != nil || from == to {
		return nil, errTooShort
	}
	moved := lines[from]
	lines = slices.Delete(lines, from, from+1)
	if from < to {
		to--
	}
	if m[2] == "after" || m[2] == "behind" {
		to++
	}
	return slices.Insert(lines, to, moved), nil
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
	by := map[string]string{"vertical tab": "\v", "space": " ", "carriage return": "\r", "form feed": "\f", "u+2028": "\u2028", "line separator": "\u2028",
		"u+2029": "\u2029", "paragraph separator": "\u2029", "u+0085": "\u0085", "nel": "\u0085"}[m[len(m)-1]]
	i := len(lines) / 2
	lines[i-1] = append(bytes.TrimSuffix(lines[i-1], []byte("\n")), by...)
	return lines, nil
}

// tear leaves half of the last record, as a crash does.
func tear(lines [][]byte, _ []string) ([][]byte, error) {
	last := lines[len(lines)-1]
	lines[len(lines)-1] = last[:len(last)/2]
	return lines, nil
}

func flip(lines [][]byte, m []string) ([][]byte, error) {
	i, err := at(lines, m[1]+m[2])
	if err != nil {
		return nil, err
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

// dropRange takes out the records from one to another.
func dropRange(lines [][]byte, m []string) ([][]byte, error) {
	a, errA := at(lines, m[1])
	b, errB := at(lines, m[2])
	if errA != nil || errB != nil || b < a {
		return nil, errTooShort
	}
	return slices.Delete(lines, a, b+1), nil
}

func cutWithin(lines [][]byte, m []string) ([][]byte, error) {
	i, err := at(lines, m[1])
	if err != nil {
		return nil, err
	}
	return tear(lines[:i+1], nil)
}

// older is what the log was halfway.
func older(lines [][]byte, _ []string) ([][]byte, error) { return lines[:len(lines)/2], nil }

func moveTo(lines [][]byte, m []string) ([][]byte, error) {
	i, err := at(lines, m[1])
	if err != nil {
		return nil, err
	}
	moved := lines[i]
	lines = slices.Delete(lines, i, i+1)
	if m[2] == "end" {
		return append(lines, moved), nil
	}
	return slices.Insert(lines, 0, moved), nil
}

// insertAfter adds a record that looks like the one before it and has another time.
func insertAfter(lines [][]byte, m []string) ([][]byte, error) {
	i, err := at(lines, m[1])
	if err != nil {
		return nil, err
	}
	forged, err := editRecord([][]byte{lines[i]}, []string{"", "1"})
	if err != nil {
		return nil, err
	}
	return slices.Insert(lines, i+1, forged[0]), nil
}

func blankLine(lines [][]byte, m []string) ([][]byte, error) {
	i, err := at(lines, m[1])
	if err != nil {
		return nil, err
	}
	return slices.Insert(lines, i, []byte("\n")), nil
}

func appendBytes(lines [][]byte, _ []string) ([][]byte, error) {
	return append(lines, make([]byte, 8)), nil
}

func padRecord(lines [][]byte, m []string) ([][]byte, error) {
	i, err := at(lines, m[1])
	if err != nil {
		return nil, err
	}
	lines[i] = bytes.Replace(lines[i], []byte(":"), []byte(": "), 1)
	return lines, nil
}

// reorderKeys puts the last key of a record first: no value is another one.
func reorderKeys(lines [][]byte, m []string) ([][]byte, error) {
	i, err := at(lines, m[1])
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(lines[i], &fields); err != nil {
		return nil, err
	}
	var text []string
	for _, k := range slices.Backward(slices.Sorted(maps.Keys(fields))) {
		text = append(text, strconv.Quote(k)+":"+string(fields[k]))
	}
	lines[i] = []byte("{" + strings.Join(text, ",") + "}\n")
	return lines, nil
}

func byteOrderMark(lines [][]byte, _ []string) ([][]byte, error) {
	if len(lines) == 0 {
		return nil, errTooShort
	}
	lines[0] = append([]byte("\ufeff"), lines[0]...)
	return lines, nil
}

// repeatKey gives a record one of its keys twice.
func repeatKey(lines [][]byte, m []string) ([][]byte, error) {
	return respell(lines, m, regexp.MustCompile(`^\{`), `{"seq":0,`)
}

// addKey gives a record a key that no record has.
func addKey(lines [][]byte, m []string) ([][]byte, error) {
	i, err := at(lines, m[1])
	if err != nil {
		return nil, err
	}
	lines[i], err = change(lines[i], func(entry map[string]any) { entry["extra"] = true })
	return lines, err
}

func dropHash(lines [][]byte, m []string) ([][]byte, error) {
	i, err := at(lines, m[1])
	if err != nil {
		return nil, err
	}
	lines[i], err = change(lines[i], func(entry map[string]any) { delete(entry, "hash") })
	return lines, err
}

// escapeLetter writes a letter of a record in another way.
func escapeLetter(lines [][]byte, m []string) ([][]byte, error) {
	return respell(lines, m, regexp.MustCompile(`"durable"`), `"\u0064urable"`)
}

// respellNumber writes a number of a record in another way.
func respellNumber(lines [][]byte, m []string) ([][]byte, error) {
	return respell(lines, m, regexp.MustCompile(`("seq":\d+)`), `$1.0`)
}

// respell changes the bytes of a record and not what they mean.
func respell(lines [][]byte, m []string, what *regexp.Regexp, by string) ([][]byte, error) {
	number := m[1]
	if number == "" && len(m) > 2 {
		number = m[2]
	}
	i, err := at(lines, number)
	if err != nil {
		return nil, err
	}
	lines[i] = what.ReplaceAll(lines[i], []byte(by))
	return lines, nil
}

func carriageReturns(lines [][]byte, _ []string) ([][]byte, error) {
	for i, l := range lines {
		lines[i] = append(bytes.TrimSuffix(slices.Clone(l), []byte("\n")), "\r\n"...)
	}
	return lines, nil
}

func moveTimes(lines [][]byte, m []string) ([][]byte, error) {
	if m[1] != "" {
		return editRecord(lines, m)
	}
	for i := range lines {
		if _, err := editRecord(lines, []string{"", strconv.Itoa(i + 1)}); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// rewriteAll makes another history of the same length, with right hashes.
func rewriteAll(lines [][]byte, _ []string) ([][]byte, error) {
	start := first(lines)
	for i := range lines {
		var err error
		if lines[i], err = change(lines[i], func(entry map[string]any) { entry["time"] = later }); err != nil {
			return nil, err
		}
	}
	return rechain(lines, start, len(lines))
}

// later is a time after that of every record.
const later = "2030-01-03T00:00:00Z"

func editHash(lines [][]byte, m []string) ([][]byte, error) {
	return set(lines, m[1], "hash", action.Hash([]byte("another")))
}

func editLink(lines [][]byte, m []string) ([][]byte, error) {
	return set(lines, m[1], "prev", action.Hash(nil))
}

func editNumber(lines [][]byte, m []string) ([][]byte, error) {
	return set(lines, m[1], "seq", float64(1000))
}

func set(lines [][]byte, number, key string, value any) ([][]byte, error) {
	i, err := at(lines, number)
	if err != nil {
		return nil, err
	}
	lines[i], err = change(lines[i], func(entry map[string]any) { entry[key] = value })
	return lines, err
}

// rotate moves the older records into segments of their own, and removes one of
// them where the sentence says so.
func (j *audited) rotate(files, missing string) error {
	lines, err := j.lines()
	if err != nil {
		return err
	}
	n := counts[files]
	if len(lines) < n {
		return errTooShort
	}
	var names []string
	for i := range n - 1 {
		names = append(names, filepath.Join(j.dir, fmt.Sprintf("journal.%d.jsonl", i+1)))
		part := lines[i*len(lines)/n : (i+1)*len(lines)/n]
		if err := os.WriteFile(names[i], bytes.Join(part, nil), 0o600); err != nil {
			return err
		}
	}
	names = append(names, j.file())
	if err := j.rewrite(lines[(n-1)*len(lines)/n:]); err != nil {
		return err
	}
	switch missing {
	case "first", "older", "oldest":
		return os.Remove(names[0])
	case "second", "middle":
		return os.Remove(names[1])
	case "newer", "newest", "last":
		return os.Remove(names[n-1])
	}
	return nil
}

// disorder rotates into two files that do not follow each other.
func (j *audited) disorder(how string) error {
	lines, err := j.lines()
	if err != nil {
		return err
	}
	half := len(lines) / 2
	if half < 1 {
		return errTooShort
	}
	older, newer := lines[:half], lines[half:]
	switch {
	case strings.Contains(how, "swapped") || strings.Contains(how, "order"):
		older, newer = newer, older
	case strings.HasPrefix(how, "gap") || strings.Contains(how, "missing") || strings.Contains(how, "lost"):
		newer = newer[1:]
	default:
		newer = lines[half-1:]
	}
	if err := os.WriteFile(filepath.Join(j.dir, "journal.1.jsonl"), bytes.Join(older, nil), 0o600); err != nil {
		return err
	}
	return j.rewrite(newer)
}

// move takes the whole state to another directory.
func (j *audited) move() error {
	to := j.dir + "-elsewhere"
	if err := os.Rename(j.dir, to); err != nil {
		return err
	}
	j.dir = to
	return nil
}

// fork lets a copy of the log go on by itself. Its head is the one that somebody
// outside has seen.
func (j *audited) fork() error {
	other := &audited{dir: j.dir + "-copy"}
	if err := os.CopyFS(other.dir, os.DirFS(j.dir)); err != nil {
		return err
	}
	lines, err := j.lines()
	if err != nil {
		return err
	}
	seq := len(lines) + 1
	if err := other.write(seq, json.RawMessage(`{"copy":true}`), seq); err != nil {
		return err
	}
	j.head = other.head
	return nil
}

// contend leaves another writer at the log.
func (j *audited) contend() error {
	p, err := pdp.Open(j.dir, pdp.Options{Now: func() int64 { return audited0 }})
	if err != nil {
		return err
	}
	j.done = p.Close
	return nil
}
