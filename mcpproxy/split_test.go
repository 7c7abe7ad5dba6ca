package mcpproxy

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

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
