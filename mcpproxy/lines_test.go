package mcpproxy

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestNoise checks what of a server's output is a message, by its members.
func TestNoise(t *testing.T) {
	for line, noise := range testkit.Named[bool](t, "lines.txt", "<long>", strings.Repeat("x", 2*maxInMemory)) {
		f, err := NewReader(strings.NewReader(line+"\n"), 0).Next()
		if err != nil || f.Noise() != noise {
			t.Errorf("%.80s: noise %v, error %v", line, f.Noise(), err)
		}
		f.Close()
	}
}

// receive returns what Receive makes of the output of a server, and how much of it is noise.
func receive(t *testing.T, in io.Reader) (events []string, noise int) {
	t.Helper()
	h := Hooks{
		NonMessage: func(*Frame) { noise++ },
		Oversized: func(_ Side, f *Frame) {
			for i := range f.Messages {
				events = append(events, fmt.Sprintf("%s %v", f.Messages[i].ID, f.Err))
			}
		},
	}
	if err := h.Receive(NewReader(in, 0), func(f *Frame) error {
		events = append(events, strings.TrimSpace(string(f.Bytes())))
		return nil
	}); err != nil {
		t.Error(err)
	}
	return events, noise
}

// TestSeveralLines checks that a message over several lines is reported once it is whole, that its
// lines are noise, and that lines which only look like one change nothing.
func TestSeveralLines(t *testing.T) {
	pretty := func(id string) string {
		return "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": " + id + ",\n  \"result\": {\n    \"a\": [\n      {},\n      \"b\"\n    ]\n  }\n}\n"
	}
	const single = `{"id":9,"result":1}`
	several := func(id string) string { return id + " " + ErrSeveralLines.Error() }
	for name, c := range map[string]struct {
		in    string
		want  []string
		noise int
	}{
		"one":                      {pretty("1") + single, []string{several("1"), single}, 10},
		"two":                      {pretty("1") + pretty("2"), []string{several("1"), several("2")}, 20},
		"no line end between them": {strings.TrimSuffix(pretty("1"), "\n") + pretty("2"), []string{several("1"), several("2")}, 19},
		"CRLF":                     {strings.ReplaceAll(pretty("1"), "\n", "\r\n"), []string{several("1")}, 10},
		"blank lines":              {strings.ReplaceAll(pretty("1"), "\n", "\n\n"), []string{several("1")}, 20},
		"batch":                    {"[\n{\n\"id\":1,\n\"result\":1\n},\n{\n\"id\":2,\n\"result\":1\n}\n]\n", []string{several("1"), several("2")}, 10},
		"line end in a string":     {"{\"id\":1,\"result\":\"a\nb\"}\n", []string{several("1")}, 2},
		"after a log":              {"Starting {\n[INFO] up\n{oops\n" + pretty("1"), []string{several("1")}, 13},
		"after half a message":     {"{\"id\":7,\n" + pretty("1"), []string{several("1")}, 11},
		"a log over several lines": {"{\n\"level\":30\n}\n" + single, []string{single}, 3},
		"a message between":        {"{\n" + single + "\n\"id\":1,\"result\":1}\n", []string{single}, 2},
		"cut off":                  {"{\n\"id\":1,\n", nil, 2},
		"other values":             {"[\n1\n]\n7\n\"a\"\n", nil, 5},
	} {
		for step, src := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
			if got, noise := receive(t, src); fmt.Sprint(got) != fmt.Sprint(c.want) || noise != c.noise {
				t.Errorf("%s (%d): %q and %d lines of noise, want %q and %d", name, step, got, noise, c.want, c.noise)
			}
		}
	}
}

// TestContentLength checks that messages framed as by LSP are reported, also the last one, after
// which no byte comes, and that a message with its own line passes whatever is before it.
func TestContentLength(t *testing.T) {
	framed := func(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }
	rejected := func(id string) string { return id + " " + ErrContentLength.Error() }
	const one, two = `{"id":1,"result":{"é":1}}`, `{"id":2,"result":{}}`
	big := `{"result":"` + strings.Repeat("x", 2*maxInMemory) + `","id":3}`
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"one":               {framed(one), []string{rejected("1")}},
		"two":               {framed(one) + framed(two), []string{rejected("1"), rejected("2")}},
		"large":             {framed(big) + framed(two), []string{rejected("3"), rejected("2")}},
		"type":              {"content-length:20\nContent-Type: application/vscode-jsonrpc; charset=utf-8\n\n" + two, []string{rejected("2")}},
		"length of another": {strings.Replace(framed(one), "26", "24", 1) + framed(two), []string{rejected("1"), rejected("2")}},
		"log":               {framed(`{"level":30}`) + "\n" + two + "\n", []string{two}},
		"own line":          {framed(one+"\n") + framed(two+"\n"), []string{one, two}},
		"line end at once":  {framed(one) + "\n" + framed(two) + "\n", []string{one, two}},
		"length in a log":   {"Content-Length: 20\n\nand more\n" + two + "\n", []string{two}},
		"no blank line":     {"Content-Length: 20\n" + two + "\n" + one, []string{two, one}},
		"another text":      {two + "Content: 90\n", []string{two + "Content: 90"}},
	} {
		for step, src := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
			if step == 1 && (len(c.in) > maxInMemory || name == "line end at once") {
				continue
			}
			if got, _ := receive(t, src); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%s (%d): %.200q, want %q", name, step, got, c.want)
			}
		}
	}
	// The last message is reported although no more comes.
	in, server := io.Pipe()
	done := make(chan string, 1)
	go func() {
		h := Hooks{Oversized: func(_ Side, f *Frame) { done <- string(f.Messages[0].ID) }}
		h.Receive(NewReader(in, 0), func(*Frame) error { return nil })
	}()
	server.Write([]byte(framed(one)))
	if id := <-done; id != "1" {
		t.Errorf("id %s", id)
	}
	server.Close()
	// A client is not a server: what it sends is passed on as it is.
	r := NewReader(strings.NewReader(framed(one)), 0)
	var all string
	for f, err := r.Next(); err == nil; f, err = r.Next() {
		if f.Oversized {
			t.Error("the frame of a client is dropped")
		}
		all += string(f.Bytes())
	}
	if all != framed(one) {
		t.Errorf("%q", all)
	}
}

// TestEnding checks that a message after other text on its line is found, and nothing else.
func TestEnding(t *testing.T) {
	const m = `{"id":1,"result":{"a":{}}}`
	for line, want := range map[string]string{
		"Starting..." + m: m, "[INFO] {config: {a}} " + m + " \r": m, "x{y}" + m: m, m: "", m + "x": "", "x" + m + "x": "", "x" + m + m: m,
		`{"level":30,"sent":` + m + `}`: "", `{"level":30,"sent":` + m: m, "x{}": "", `x{"level":30}`: "", "x": "", "": "",
		strings.Repeat("{", maxEndings) + m: "",
	} {
		got := ""
		if e := Parse([]byte(line + "\n")).Ending(); e != nil {
			got = string(e.Bytes())
		}
		if got != want {
			t.Errorf("%q: %q", line, got)
		}
	}
}
