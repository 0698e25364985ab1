package action

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
)

// collect names each line by its number and text or error.
func collect(r io.Reader) (out []string) {
	for line, err := range Lines(r) {
		s := strconv.Itoa(line.Number) + ":" + string(line.Text)
		if len(line.Text) > 100 {
			s = strconv.Itoa(line.Number) + ":" + strconv.Itoa(len(line.Text)) + " bytes"
		}
		if err != nil {
			s += "!" + err.Error()
		}
		out = append(out, s)
	}
	return out
}

func TestLines(t *testing.T) {
	full, over := strings.Repeat("x", MaxSize), strings.Repeat("x", MaxSize+1)
	const long = "!line 2: the line is longer than 1048576 bytes (one document a line; put large content elsewhere and name it)"
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", nil},
		{"blank lines", "\n \t\n\r\n\n", nil},
		{"numbers count blank lines", "a\n\n  \nb\n", []string{"1:a", "4:b"}},
		{"carriage returns", "a\r\n\r\nb\r\r\n", []string{"1:a", "3:b\r"}},
		{"no newline at the end", "a\nb", []string{"1:a", "2:b"}},
		{"carriage return at the end", "a\nb\r", []string{"1:a", "2:b"}},
		{"space is kept", " a \n", []string{"1: a "}},
		{"exactly a mebibyte", full + "\n" + full + "\r\n" + full, []string{"1:1048576 bytes", "2:1048576 bytes", "3:1048576 bytes"}},
		{"one byte more", "a\n" + over + "\nb\n", []string{"1:a", "2:" + long, "3:b"}},
		{"one byte more and a carriage return", "a\n" + over + "\r\nb\n", []string{"1:a", "2:" + long, "3:b"}},
		{"much more", "a\n" + strings.Repeat(full, 5) + "\nb", []string{"1:a", "2:" + long, "3:b"}},
		{"much more, at the end", "a\n" + strings.Repeat(full, 5), []string{"1:a", "2:" + long}},
		{"too long and blank", "a\n" + strings.Repeat(" ", MaxSize+1) + "\nb", []string{"1:a", "2:" + long, "3:b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{"whole": strings.NewReader(c.text), "halves": iotest.HalfReader(strings.NewReader(c.text)), "with the error": iotest.DataErrReader(strings.NewReader(c.text))} {
				if got := collect(r); !reflect.DeepEqual(got, c.want) {
					t.Errorf("%s: got %.300q, want %.300q", name, got, c.want)
				}
			}
		})
	}
}

// TestALineThatIsNotKeptIsToldByItsDigest holds digest and length of every line,
// kept or not, to those of its text.
func TestALineThatIsNotKeptIsToldByItsDigest(t *testing.T) {
	for _, size := range []int{1, MaxSize - 1, MaxSize, MaxSize + 1, MaxSize + 2, MaxSize + 3, MaxSize + 64<<10, 3*MaxSize + 7} {
		for _, tail := range []string{"", "\r", "\r\r", "y"} {
			for _, ending := range []string{"", "\n", "\r\n", "\nz"} {
				text := strings.Repeat("x", size) + tail
				want := text
				if !strings.HasPrefix(ending, "\r") {
					want = strings.TrimSuffix(text, "\r")
				}
				for line, err := range Lines(iotest.HalfReader(strings.NewReader(text + ending))) {
					if line.Digest() != Hash([]byte(want)) || line.Len() != len(want) || (err != nil) != (len(want) > MaxSize) {
						t.Fatalf("%d bytes, %q, %q: %d bytes, %s, %v; want %d bytes, %s", size, tail, ending, line.Len(), line.Digest(), err, len(want), Hash([]byte(want)))
					}
					break
				}
			}
		}
	}
}

func TestLinesStopAtAReadError(t *testing.T) {
	broken := errors.New("broken")
	r := io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken))
	n := 0
	for line, err := range Lines(r) {
		if n++; n == 2 && (!errors.Is(err, broken) || line.Text != nil || line.Number != 2) {
			t.Errorf("got %v, %v, want the reader's error and no part of a line", line, err)
		}
	}
	if n != 2 {
		t.Errorf("got %d lines, want 2", n)
	}
}

func TestLinesAreTheReceivers(t *testing.T) {
	var kept [][]byte
	for line, err := range Lines(strings.NewReader("aaaa\nbbbb\ncccc")) {
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, line.Text)
		if len(kept) == 2 {
			break // the rest is not read
		}
	}
	if got := string(bytes.Join(kept, []byte(" "))); got != "aaaa bbbb" {
		t.Errorf("got %q", got)
	}
}

// endless gives a line without end for as long as it is asked, and fails if it
// is held in memory.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	for i := range p {
		p[i] = 'x'
	}
	e.left -= len(p)
	return len(p), nil
}

func TestTooLongLineIsNotBuffered(t *testing.T) {
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for range Lines(&endless{left: 256 << 20}) {
			}
		}
	}).AllocedBytesPerOp()
	if allocated > 16<<20 {
		t.Errorf("a line of 256 MiB took %d bytes of memory", allocated)
	}
}

func TestLocatePutsAnErrorAtItsLine(t *testing.T) {
	for line, err := range Lines(strings.NewReader("\n\n" + withTool("1") + "\n")) {
		if err != nil {
			t.Fatal(err)
		}
		_, err = Decode(line.Text)
		if got, want := line.Locate(err).Error(), "line 3, column 38, /tool: must be a string, is a number (put it in double quotes)"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if other := errors.New("other"); line.Locate(other) != other || line.Locate(nil) != nil {
			t.Error("changed an error that is not of this package")
		}
	}
}
