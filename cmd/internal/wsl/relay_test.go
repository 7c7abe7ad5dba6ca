package wsl

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// TestMessages: only messages reach the client, also if they come in pieces.
func TestMessages(t *testing.T) {
	long := strings.Repeat("x", mostHeld)
	for _, c := range []struct{ written, out, said string }{
		{"{\"a\"}\nplain\n", "{\"a\"}\nplain\n", ""},
		{"noise\n{\"a\"}\n", "{\"a\"}\n", "noise\n"},
		{"noise {\"a\"}\n{\"b\"}\n", "{\"b\"}\n", "noise {\"a\"}\n"},
		{" \t [1]\n", " \t [1]\n", ""},
		{"\r\n\n{\"ä\"}\r\n", "{\"ä\"}\r\n", "\r\n\n"},
		{"{\"without an end\"}", "{\"without an end\"}", ""},
		{string(utf16LE("{error}\r\n")), "", string(utf16LE("{error}\r\n"))},
		{string(utf16LE("笊的笊誤\r\n")), "", string(utf16LE("笊的笊誤\r\n"))}, // "笊" has the bytes of a line's end and a brace
		{string(utf16LE("wsl: note\r\n")) + "{1}\n", "{1}\n", strings.TrimSuffix(string(utf16LE("wsl: note\r\n")), "\x00")},
		{"x{\n", "", "x{\n"},
		{"", "", ""},
		{"{" + long + "}\n", "{" + long + "}\n", ""},
		{long + "{\n{\"a\"}\n", "{\"a\"}\n", long[:mostSaid]},
	} {
		for _, piece := range []int{1, 2, 3, 7, 1 << 20} {
			var out bytes.Buffer
			begun := 0
			m := &messages{to: &out, begin: func() { begun++ }}
			for rest := []byte(c.written); len(rest) > 0; {
				n, err := m.Write(rest[:min(piece, len(rest))])
				if n != min(piece, len(rest)) || err != nil {
					t.Fatalf("%.40q: %d, %v", c.written, n, err)
				}
				rest = rest[n:]
			}
			if err := m.end(); err != nil {
				t.Fatal(err)
			}
			if out.String() != c.out || string(m.said) != c.said || begun != min(1, len(c.out)) || m.hasBegun() != (begun == 1) {
				t.Errorf("%.40q in pieces of %d: %.40q, %.40q", c.written, piece, out.String(), m.said)
			}
		}
	}
}

// TestReplayed: what the client has sent is there for another answer, in whole lines. Too much of it is not
// kept, and nothing is once a message has come.
func TestReplayed(t *testing.T) {
	line := strings.Repeat("x", 1000) + "\n"
	most := mostKept / len(line)
	for name, c := range map[string]struct {
		sent   []string
		forget bool
		then   string
		want   string
	}{
		"little":           {[]string{"a\nb", "c\n"}, false, "d\n", "a\nbc\nd\n"},
		"a line continues": {[]string{"a\nb"}, false, "c\n", "a\nbc\n"},
		"too much":         {[]string{strings.Repeat(line, most) + "b", line, "c\n"}, false, "d\n", strings.Repeat(line, most) + "d\n"},
		"too much, cut":    {[]string{strings.Repeat(line, most) + "b", line + "c"}, false, "d\ne\n", strings.Repeat(line, most) + "e\n"},
		"a message came":   {[]string{"a\nb"}, true, "c\nd\n", "d\n"},
	} {
		in, client := io.Pipe()
		r := &replayed{to: nowhere{}}
		copied := make(chan struct{})
		go func() {
			r.copy(in)
			close(copied)
		}()
		for _, piece := range c.sent {
			client.Write([]byte(piece))
		}
		client.Write(nil) // returns when the piece before it has been kept
		if c.forget {
			r.forget()
		}
		rest := r.rest()
		go func() {
			client.Write([]byte(c.then))
			client.Close()
		}()
		got := soon(t, func() string {
			all, err := io.ReadAll(rest)
			if err != nil {
				t.Error(err)
			}
			return string(all)
		})
		<-copied
		if got != c.want || !r.hasSent() {
			t.Errorf("%s: %d bytes, want %d: %.40q", name, len(got), len(c.want), got)
		}
	}
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) Close() error                { return nil }
