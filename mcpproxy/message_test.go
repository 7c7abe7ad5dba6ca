package mcpproxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestMessages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		got  []byte
		want string
		kind Kind
	}{
		{NewRequest([]byte(`1.0`), "tools/list", []byte(`{"cursor":"a"}`)), `{"jsonrpc":"2.0","id":1.0,"method":"tools/list","params":{"cursor":"a"}}`, Request},
		{NewNotification("notifications/initialized", nil), `{"jsonrpc":"2.0","method":"notifications/initialized"}`, Notification},
		{NewNotification("a", []byte(`{}`)), `{"jsonrpc":"2.0","method":"a","params":{}}`, Notification},
		{NewResponse([]byte(`"a\u0062"`), "result", []byte(`9007199254740993`)), `{"jsonrpc":"2.0","id":"a\u0062","result":9007199254740993}`, Response},
		{NewError([]byte(`7`), -32603, "<a> & \"b\"\n\xff", nil), `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"<a> & \"b\"\n\ufffd"}}`, Response},
		{NewError([]byte(`7`), -32601, "no", []byte(`{"x":1}`)), `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no","data":{"x":1}}}`, Response},
	} {
		if string(c.got) != c.want+"\n" {
			t.Errorf("%q, want %q", c.got, c.want)
		}
		if f := Parse(c.got); len(f.Messages) != 1 || f.Messages[0].Kind() != c.kind || f.Flaws != 0 {
			t.Errorf("%q is read as %+v", c.got, f)
		}
	}
}

func TestNonMessage(t *testing.T) {
	for line, want := range map[string]bool{
		"": true, " ": true, "Listening on 3000": true, "[INFO] started": true, "[123] started": true, "42": true, `"text"`: true, "null": true, "[]": true,
		"{": true, `{"id":1,"result":`: true, "{}{}": false, "{}": false, "[{}]": false, `{"level":30,"msg":"x"}`: false, "{\"a\":\"\xff\"}": false,
		`{"id":1,"result":NaN}`: false, `{"id":1,"result":Nan}`: true, `{"id":1,"result":-Infinit}`: true, `{"id":1,"result":+Infinity}`: true,
		byteOrderMark + "{}": false, byteOrderMark[:2] + "{}": true, byteOrderMark + byteOrderMark + "{}": true, " " + byteOrderMark + "{}": true,
	} {
		f, err := NewReader(strings.NewReader(line+"\n"), 0).Next()
		if err != nil || f.NonMessage() != want {
			t.Errorf("%q: junk %v, error %v", line, f.NonMessage(), err)
		}
	}
}

// callOf returns a tools/call of about size bytes, with escapes as in real text.
func callOf(size int) []byte {
	text := strings.Repeat(`some text of a tool, with a \"word\" and an end.\n`, size/50+1)
	head := `{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"notes.txt","content":"`
	tail := `"},"_meta":{"progressToken":3}}}` + "\n"
	text = text[:max(0, size-len(head)-len(tail))]
	return []byte(head + strings.TrimRight(text, `\`) + tail)
}

func frameOf(t testing.TB, line string) *Frame {
	t.Helper()
	f, err := NewReader(strings.NewReader(line), 0).Next()
	testkit.Must(t, err)
	return f
}

func sent(t testing.TB, f *Frame) string {
	t.Helper()
	var out bytes.Buffer
	testkit.Must(t, NewWriter(&out).Send(f))
	if kept, ok := f.AppendTo(nil); ok && string(kept) != out.String() {
		t.Errorf("kept as %q, sent as %q", kept, out.String())
	}
	return out.String()
}

// says prints the envelopes of a frame.
func says(f *Frame) string {
	out := fmt.Sprintf("junk %v batch %v flaws %b", f.NonMessage(), f.Batch, f.Flaws)
	for _, e := range f.Messages {
		for _, own := range e.Reserved {
			out += fmt.Sprintf(" own %v", *own)
		}
		e.Reserved = nil
		out += fmt.Sprintf(" %+v", e)
	}
	return out
}

// TestDetach checks that a detached frame keeps its envelopes, edits and bytes after the
// reader has reused its buffers.
func TestDetach(t *testing.T) {
	smallFrames(t)
	long := strings.Repeat("x", maxInMemory)
	for _, in := range []string{
		`{"id":"a","method":"tools/call","params":{"name":"n","requestId":5,"_meta":{"progressToken":"t","` + VersionKey + `":"v","dev.mcp-jail/x":1}}}` + "\r\n",
		`[{"id":"","method":""},{"id":2,"error":{"code":-1,"data":{"dev.mcp-jail/x":1}}}]` + "\n",
		`{"id":7,"method":"m","params":{"pad":"` + long + `","_meta":{}}}` + "\n",
		"no JSON\n",
	} {
		for _, edited := range []bool{false, true} {
			next := `{"id":"` + strings.Repeat("#", 40) + `"}` + strings.Repeat(" ", min(len(in), 1000))
			r := NewReader(io.MultiReader(strings.NewReader(in), strings.NewReader(next)), 0)
			f, err := r.Next()
			testkit.Must(t, err)
			if edited && len(f.Messages) > 0 {
				e := &f.Messages[0]
				f.Replace(e.IDAt, []byte("99"))
				f.Cut(e.Reserved, &e.ParamsMeta)
				f.AddMember(&e.ParamsMeta, "added", []byte("1"))
			}
			before, want := says(f), sent(t, f)
			d := f.Detach()
			if got := sent(t, f); got != want || f.Detach() == d || d.Detach() != d {
				t.Errorf("%.80s: the frame itself is now %.80s", in, got)
			}
			if _, err := r.Next(); err != nil {
				t.Fatalf("%.80s: then %v", in, err)
			}
			if got := sent(t, d); got != want || says(d) != before {
				t.Errorf("%.80s: sent as %.80s, with %s, and it was %s", in, got, says(d), before)
			}
			d.AddMember(&Span{Start: 0, End: d.Size, Kind: '{'}, "later", []byte("1"))
			d.Close()
			d.Close()
			if err := NewWriter(io.Discard).Send(d); errors.Is(err, ErrGone) != (d.Bytes() == nil) {
				t.Errorf("%.80s: closed, it is sent with %v", in, err)
			}
		}
	}
}

// TestDetachedSpill checks that the last user closes the file, in either order.
func TestDetachedSpill(t *testing.T) {
	smallFrames(t)
	in := `{"id":1,"pad":"` + strings.Repeat("x", maxInMemory) + `"}` + "\n{}\n{}\n"
	for _, early := range []bool{true, false} {
		t.Run(fmt.Sprintf("early %t", early), func(t *testing.T) {
			r := NewReader(strings.NewReader(in), 0)
			f, _ := r.Next()
			file := f.spill.file
			d := f.Detach()
			if early {
				d.Close()
			} else {
				r.Next()
			}
			if _, err := file.Stat(); err != nil {
				t.Errorf("closed too early: %v", err)
			}
			if early {
				r.Next()
			} else {
				d.Close()
			}
			if _, err := file.Stat(); !errors.Is(err, os.ErrClosed) {
				t.Errorf("still open: %v", err)
			}
		})
	}
}

func TestSplit(t *testing.T) {
	for in, want := range map[string]struct {
		messages []string
		stray    int
		flaws    Flaw
	}{
		`[{"id":1},{"id":2}]`:                              {[]string{`{"id":1}`, `{"id":2}`}, 0, 0},
		` [ {"id":9007199254740993 } ,{ } ] ` + "\r":       {[]string{`{"id":9007199254740993 }`, `{ }`}, 0, 0},
		`[{"a":[{}]}, 7, "x", [{"id":1}], null, {"id":3}]`: {[]string{`{"a":[{}]}`, `{"id":3}`}, 4, 0},
		`[]`:                         {nil, 0, 0},
		`[1]`:                        {nil, 1, 0},
		`[{"id":1},{"id":2,"id":3}]`: {[]string{`{"id":1}`, `{"id":2,"id":3}`}, 0, FlawDuplicate},
		`[{"id":1}] x`:               {[]string{`{"id":1}`}, 0, FlawTrailing},
		`[{"id":1},{"id":`:           {nil, 0, FlawMalformed},
		`{"id":1}`:                   {[]string{`{"id":1}`}, 0, 0},
	} {
		f := frameOf(t, in+"\n")
		whole := f.Batch
		messages, stray := f.Split()
		if len(messages) != len(want.messages) || stray != want.stray {
			t.Errorf("%s: %d messages, %d strays", in, len(messages), stray)
			continue
		}
		for i, m := range messages {
			if got := sent(t, m); got != want.messages[i]+"\n" || m.Batch || len(m.Messages) != 1 || m.Flaws != want.flaws || m.NonMessage() {
				t.Errorf("%s (batch: %v): message %d is sent as %q, with %+v", in, whole, i, got, m)
			}
		}
	}
	many := frameOf(t, "["+strings.Repeat(`{"id":1},`, maxBatch)+`{"id":2},{"id":3}]`)
	if messages, stray := many.Split(); len(messages) != maxBatch || stray != 2 || messages[0].Flaws != FlawBounds {
		t.Errorf("%d messages, %d strays", len(messages), stray)
	}
}

// TestSplitEdited checks that edits stay with their message.
func TestSplitEdited(t *testing.T) {
	f := frameOf(t, `[{"id":1,"params":{}},{"id":2},{"id":3,"params":{"a":1}}]`)
	f.Replace(f.Messages[0].IDAt, []byte(`"one"`))
	f.AddMember(&f.Messages[2].Params, "b", []byte("2"))
	f.Cut([]*Span{&f.Messages[1].Self})
	messages, _ := f.Split()
	var got string
	for _, m := range messages {
		got += sent(t, m)
	}
	if got != `{"id":"one","params":{}}`+"\n"+`{"id":3,"params":{"a":1,"b":2}}`+"\n" {
		t.Errorf("got %s", got)
	}
}

// TestSplitSpill checks that the messages of a large batch share its file, and that the
// last one closes it.
func TestSplitSpill(t *testing.T) {
	smallFrames(t)
	pad := strings.Repeat("x", maxInMemory)
	r := NewReader(strings.NewReader(`[{"id":1,"method":"m","pad":"`+pad+`"}, {"method":"n","id":"two"},{"id":3}]`+"\n{}\n"), 0)
	f, err := r.Next()
	testkit.Must(t, err)
	file := f.spill.file
	messages, stray := f.Split()
	if len(messages) != 3 || stray != 0 {
		t.Fatalf("%d messages, %d strays", len(messages), stray)
	}
	r.Next()
	messages[1].Replace(messages[1].Messages[0].IDAt, []byte("22"))
	for i, want := range []string{`{"id":1,"method":"m","pad":"` + pad + `"}` + "\n", `{"method":"n","id":22}` + "\n", `{"id":3}` + "\n"} {
		m := messages[i]
		if got := sent(t, m); got != want || len(m.Messages) != 1 || m.Flaws != 0 || !m.hasLineEnd() {
			t.Errorf("message %d is sent as %.80q, with %+v", i, got, m)
		}
		if _, err := file.Stat(); err != nil {
			t.Errorf("closed before message %d: %v", i, err)
		}
		m.Close()
	}
	if _, err := file.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("still open: %v", err)
	}
}
