package bench

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// created, edited and moved are changes as unified diffs.
func created(path, content string) string {
	return fmt.Sprintf("--- /dev/null\n+++ b/%s\n@@ -0,0 +1,%d @@\n%s", path, countLines(content), prefixed("+", content))
}

func edited(path, before, after string) string {
	return fmt.Sprintf("--- a/%s\n+++ b/%s\n@@ -1,%d +1,%d @@\n%s%s", path, path, countLines(before), countLines(after), prefixed("-", before), prefixed("+", after))
}

func moved(from, to string) string {
	return fmt.Sprintf("diff --git a/%s b/%s\nsimilarity index 100%%\nrename from %s\nrename to %s\n", from, to, from, to)
}

func countLines(s string) int { return strings.Count(strings.TrimSuffix(s, "\n"), "\n") + 1 }

func prefixed(mark, s string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSuffix(s, "\n") + "\n") {
		b.WriteString(mark + line)
	}
	return b.String()
}

var hunkHead = regexp.MustCompile(`^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@`)

// diffPaths reads a unified diff and lists the paths that it declares. It is not
// ok where the diff is malformed: without a file, with a hunk whose lines are
// not as many as it says, or with anything that belongs to none.
func diffPaths(diff string) (paths []string, ok bool) {
	lines := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		from, renamed := strings.CutPrefix(line, "rename from ")
		to, target := strings.CutPrefix(line, "rename to ")
		switch m := hunkHead.FindStringSubmatch(line); {
		case m != nil:
			n, whole := hunk(lines[i+1:], size(m[1]), size(m[2]))
			if !whole || len(paths) == 0 {
				return nil, false
			}
			i += n
		case renamed:
			paths = append(paths, from)
		case target:
			paths = append(paths, to)
		case strings.HasPrefix(line, "--- a/"), strings.HasPrefix(line, "+++ b/"):
			paths = append(paths, line[len("--- a/"):])
		case line == "--- /dev/null", line == "+++ /dev/null", strings.HasPrefix(line, "diff --git "), strings.HasPrefix(line, "similarity index "):
		default:
			return nil, false
		}
	}
	return paths, len(paths) > 0
}

func size(text string) int {
	if text == "" {
		return 1
	}
	n, _ := strconv.Atoi(text)
	return n
}

// hunk counts the lines of a hunk that has as many old and new lines as said.
func hunk(lines []string, before, after int) (n int, whole bool) {
	for ; n < len(lines) && (before > 0 || after > 0); n++ {
		switch {
		case strings.HasPrefix(lines[n], "-"):
			before--
		case strings.HasPrefix(lines[n], "+"):
			after--
		case strings.HasPrefix(lines[n], " "):
			before, after = before-1, after-1
		default:
			return n, false
		}
	}
	return n, before == 0 && after == 0
}
