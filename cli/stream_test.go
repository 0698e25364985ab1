package cli

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"
)

// Whoever writes actions on a pipe may wait for each answer before the next: the
// first one included.
func TestAnAnswerDoesNotWaitForTheNextLine(t *testing.T) {
	in, write := io.Pipe()
	read, out := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- Main(Env{Args: []string{"decide", "--bundle", "itsm", "--format", "json", "-"}, Stdin: in, Stdout: out, Stderr: io.Discard, Now: fixed})
		out.Close()
	}()
	answers := bufio.NewReader(read)
	for i := range 3 {
		id := fmt.Sprintf(`"call_id":"c%d"`, i)
		if _, err := fmt.Fprintln(write, strings.Replace(readOne, `"call_id":"c"`, id, 1)); err != nil {
			t.Fatal(err)
		}
		if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, id) {
			t.Fatalf("answer %d: %q, %v; want one for %s", i, line, err, id)
		}
	}
	write.Close()
	if got := <-code; got != exitHeld {
		t.Errorf("exit %d, want %d", got, exitHeld)
	}
}

// What is told apart by its first line: documents one a line, and one document.
func TestDocumentsOfAnInput(t *testing.T) {
	big := `{"x":"` + strings.Repeat("y", 2<<20) + `"}`
	for _, tc := range []struct {
		name, file, text string
		many             bool
		docs             int
	}{
		{"one line", "-", "{}\n", true, 1},
		{"one line that nothing ends", "-", "{}", false, 1},
		{"two lines", "-", "{}\n{}", true, 2},
		{"blank lines before and between", "-", "\n \r\n{}\r\n\n{}\n", true, 2},
		{"the second is none", "-", "{}\n{\n", true, 2},
		{"a document over many lines", "-", "{\n\"a\": 1\n}\n", false, 1},
		{"nothing", "-", "", false, 1},
		{"blank lines alone", "-", "\n\n", false, 1},
		{"a line longer than a document may be", "-", big + "\n{}\n", false, 1},
		{"a name that says one", "a.json", "{}\n{}\n", false, 1},
		{"a name that says many", "a.jsonl", "{\n}\n", true, 2},
	} {
		in := &input{name: tc.file, Reader: strings.NewReader(tc.text)}
		docs, many := in.documents()
		n := 0
		for _, err := range docs {
			if n++; err != nil {
				t.Errorf("%s: %v", tc.name, err)
			}
		}
		if many != tc.many || n != tc.docs {
			t.Errorf("%s: %d documents, many %v; want %d, %v", tc.name, n, many, tc.docs, tc.many)
		}
	}
}
