package report

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestTailSplit writes a secret in two parts, split at every position.
func TestTailSplit(t *testing.T) {
	text := "first\nGET /?a=" + url.QueryEscape(token) + " " + token + "\nlast"
	for cut := 0; cut <= len(text); cut++ {
		tail := NewTail(tokenRedactor())
		for _, part := range []string{text[:cut], text[cut:]} {
			if n, err := tail.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		if got := strings.Join(tail.Lines(-1), "\n"); got != "first\nGET /?a=[redacted TOKEN] [redacted TOKEN]\nlast" {
			t.Fatalf("cut at %d: %q", cut, got)
		}
	}
	tail := NewTail(tokenRedactor())
	for i := range len(text) { // byte by byte, looking on
		tail.Write([]byte(text[i : i+1]))
		for _, l := range tail.Lines(-1) {
			if strings.Contains(l, token[:minSecret]) {
				t.Fatalf("after %d bytes: %q shows the beginning of a secret", i+1, l)
			}
		}
	}
}

func TestTailLines(t *testing.T) {
	tail := NewTail(nil)
	fmt.Fprint(tail, "a\r\nb\r10%\r", "20%\nc\r", "\n\nd")
	if got := fmt.Sprintf("%q", tail.Lines(-1)); got != `["a" "b" "10%" "20%" "c" "" "d"]` {
		t.Errorf("lines %s", got)
	}
	if got := fmt.Sprintf("%q", tail.Lines(2)); got != `["" "d"]` {
		t.Errorf("the last two: %s", got)
	}
	if got := tail.Lines(0); len(got) != 0 {
		t.Errorf("no lines: %q", got)
	}
	var zero Tail
	fmt.Fprint(&zero, "works\n")
	if got := zero.Lines(5); len(got) != 1 || got[0] != "works" {
		t.Errorf("the zero Tail: %q", got)
	}
}

// TestTailBounds checks the bounds for a line without an end and for many short lines.
func TestTailBounds(t *testing.T) {
	tail := NewTail(nil)
	for range 100 {
		tail.Write([]byte(strings.Repeat("x", 64<<10)))
	}
	if got := tail.Lines(-1); len(got) != 1 || len(got[0]) != lineBytes {
		t.Fatalf("%d lines, the first of %d bytes", len(got), len(got[0]))
	}
	if len(tail.text.line) > lineBytes {
		t.Errorf("%d bytes of a line are kept", len(tail.text.line))
	}
	tail.Write([]byte("\nnext\n"))
	if got := tail.Lines(-1); len(got) != 2 || len(got[0]) != lineBytes || got[1] != "next" {
		t.Errorf("after its end: %d lines, the first of %d bytes", len(got), len(got[0]))
	}
	for i := range 100000 {
		fmt.Fprintf(tail, "line %d\n", i)
	}
	lines := tail.Lines(-1)
	size := 0
	for _, l := range lines {
		size += len(l) + 1
	}
	if size > TailBytes || size < TailBytes-20 || lines[len(lines)-1] != "line 99999" {
		t.Errorf("%d bytes, last %q", size, lines[len(lines)-1])
	}
}

func TestTailConcurrent(t *testing.T) {
	tail := NewTail(tokenRedactor())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 500 {
				fmt.Fprintln(tail, "x "+token)
				tail.Lines(3)
			}
		})
	}
	wg.Wait()
	for _, l := range tail.Lines(-1) {
		if l != "x [redacted TOKEN]" {
			t.Fatalf("line %q", l)
		}
	}
}

// TestTailSince tells the lines that were written since a time from earlier ones.
func TestTailSince(t *testing.T) {
	for name, r := range map[string]*Redactor{"no values": nil, "a value": tokenRedactor()} {
		tail := NewTail(r)
		fmt.Fprint(tail, "a\nb\nc\n")
		since := time.Now()
		fmt.Fprint(tail, "d "+token+"\ne")
		shown, raw, earlier := tail.Since(since, 1)
		if got := fmt.Sprintf("%q %d", raw, earlier); got != fmt.Sprintf("%q 1", []string{"c", "d " + token, "e"}) || len(shown) != 3 {
			t.Errorf("%s: %s, shown %q", name, got, shown)
		}
		if shown, _, earlier := tail.Since(time.Time{}, 1); len(shown) != 5 || earlier != 0 {
			t.Errorf("%s: since ever: %q, %d", name, shown, earlier)
		}
		if shown, _, earlier := tail.Since(time.Now(), 2); len(shown) != 3 || earlier != 2 {
			t.Errorf("%s: since now: %q, %d", name, shown, earlier) // the unfinished line is new
		}
	}
}
