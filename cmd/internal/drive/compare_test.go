package drive

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/handshake"
)

func answered(texts ...string) *Played {
	p := &Played{}
	for _, text := range texts {
		r := Call("t", json.RawMessage("{}"))
		raw := json.RawMessage(text)
		if !strings.HasPrefix(text, "{") {
			quoted, _ := json.Marshal(text)
			raw = json.RawMessage(`{"content":[{"type":"text","text":` + string(quoted) + `}]}`)
		}
		p.Answers = append(p.Answers, Answer{Request: r, Result: raw})
	}
	return p
}

// TestCompare tests which answers say the same: each case has the two expected ones and the third.
func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name, was, again, is string
		same                 bool
	}{
		{"the same", "a b", "a b", "a b", true},
		{"another word", "a b", "a b", "a c", false},
		{"less", "a b", "a b", "a", false},
		{"a time", "at 2026-11-26T21:00:00Z ok", "at 2026-11-26T21:00:01Z ok", "at 2026-11-26T21:00:05.123Z ok", true},
		{"a time, and another word", "at 2026-11-26T21:00:00Z ok", "at 2026-11-26T21:00:01Z ok", "at 2026-11-26T21:00:05Z no", false},
		{"an id that changes", "id 7f3a ok", "id 99aa ok", "id 1234 ok", true},
		{"an id that does not", "id 7f3a ok", "id 7f3a ok", "id 1234 ok", false},
		{"beside an id that changes", "id 7f3a ok", "id 99aa ok", "id 1234 no", false},
		{"another text each time", "a b c", "d e", "x", true},
		{"another word for a refusal", "error: [Errno 13] Permission denied: '/x'", "error: [Errno 13] Permission denied: '/x'", "error: [Errno 2] No such file or directory: '/x'", true},
		{"a refusal of another path", "error: [Errno 13] Permission denied: '/x'", "error: [Errno 13] Permission denied: '/x'", "error: [Errno 2] No such file or directory: '/y'", false},
		{"a refusal in place of a result", "12 bytes", "12 bytes", "error: EACCES", false},
		{"lines in another order", "a\nb\nc", "a\nb\nc", "c\na\nb", true},
		{"lines in any order", "a\nb\nc", "c\nb\na", "b\na\nc", true},
		{"lines in any order, and another one", "a\nb\nc", "c\na\nb", "b\na\nd", false},
		{"a line less", "a\nb\nc", "a\nb\nc", "a\nb", false},
		{"a failure", `{"content":[{"type":"text","text":"x"}]}`, `{"content":[{"type":"text","text":"x"}]}`, `{"isError":true,"content":[{"type":"text","text":"x"}]}`, false},
		{"fails by turns", "x", `{"isError":true,"content":[]}`, `{"isError":true,"content":[]}`, true},
		{"members in another order", `{"a":[1,2,3]}`, `{"a":[1,2,3]}`, `{"a":[3,1,2]}`, true},
		{"a member less", `{"a":[1,2,3]}`, `{"a":[1,2,3]}`, `{"a":[1,2]}`, false},
		{"keys in another order", `{"a":1,"b":2}`, `{"a":1,"b":2}`, `{"b":2,"a":1}`, true},
		{"a key less", `{"a":1,"b":2}`, `{"a":1,"b":2}`, `{"a":1}`, false},
		{"a key more", `{"a":1}`, `{"a":1}`, `{"a":1,"b":2}`, false},
		{"another number", `{"a":1}`, `{"a":1}`, `{"a":2}`, false},
		{"a number that changes", `{"a":1}`, `{"a":2}`, `{"a":3}`, true},
		{"a number that is none", `{"a":1}`, `{"a":2}`, `{"a":"x"}`, false},
		{"another type", `{"a":{"b":1}}`, `{"a":{"b":1}}`, `{"a":[1]}`, false},
		{"what mcp-jail adds", `{"content":[],"_meta":{"dev.mcp-jail/denials":[1]}}`, `{"content":[],"_meta":{"dev.mcp-jail/denials":[1]}}`, `{"content":[]}`, true},
		{"beside what mcp-jail adds", `{"content":[],"_meta":{"x":1}}`, `{"content":[],"_meta":{"x":1}}`, `{"content":[],"_meta":{"x":2,"dev.mcp-jail/denials":[1]}}`, false},
		{"a hint of mcp-jail", `{"isError":true,"content":[{"type":"text","text":"x"}]}`, `{"isError":true,"content":[{"type":"text","text":"x"}]}`, `{"isError":true,"content":[{"type":"text","text":"x"},{"type":"text","text":"\n[mcp-jail] Cause: y"}]}`, true},
		{"before a hint of mcp-jail", `{"isError":true,"content":[{"type":"text","text":"x"}]}`, `{"isError":true,"content":[{"type":"text","text":"x"}]}`, `{"isError":true,"content":[{"type":"text","text":"z"},{"type":"text","text":"\n[mcp-jail] Cause: y"}]}`, false},
		{"objects in another order, with times", `{"a":[{"n":"x","t":"10:00:00"},{"n":"y","t":"10:00:01"}]}`, `{"a":[{"n":"x","t":"10:00:02"},{"n":"y","t":"10:00:03"}]}`, `{"a":[{"n":"y","t":"09:00:04"},{"n":"x","t":"10:00:05"}]}`, true},
	} {
		e := Expected{answered(c.was), answered(c.again)}
		got := e.Compare(answered(c.is))
		if (len(got) == 0) != c.same {
			t.Errorf("%s: %+v", c.name, got)
		}
		if len(e.Compare(answered(c.was))) > 0 || len(e.Compare(answered(c.again))) > 0 {
			t.Errorf("%s: an expected session differs from itself", c.name)
		}
	}
	e := Expected{First: answered("a", "b")}
	if got := e.Compare(answered("a")); len(got) != 1 || got[0].Is != "no answer" {
		t.Errorf("a session that ended early: %+v", got)
	}
	if got := e.Compare(answered("a", "c\x1b[2J")); len(got) != 1 || !strings.Contains(got[0].Is, "content") || strings.Contains(got[0].Is, "\x1b") {
		t.Errorf("what differs: %+v", got)
	}
}

// TestCompareErrors tests that an error is the same without what mcp-jail adds to it, and only then.
func TestCompareErrors(t *testing.T) {
	failed := func(message, data string) *Played {
		return &Played{Answers: []Answer{{Request: Request{Method: "m"}, Error: &handshake.ServerError{Code: -1, Message: message, Data: json.RawMessage(data)}}}}
	}
	e := Expected{failed("no", "null"), failed("no", "null")}
	for name, c := range map[string]struct {
		is   *Played
		same bool
	}{
		"a note":              {failed("no [mcp-jail] Cause: y.", `{"dev.mcp-jail/diagnosis":{"cause":"y"}}`), true},
		"another text":        {failed("so [mcp-jail] Cause: y.", `{"dev.mcp-jail/diagnosis":{"cause":"y"}}`), false},
		"other data":          {failed("no", `{"a":1,"dev.mcp-jail/diagnosis":{"cause":"y"}}`), false},
		"data that are moved": {failed("no", `{"dev.mcp-jail/server":7,"dev.mcp-jail/diagnosis":{}}`), false},
	} {
		if got := e.Compare(c.is); (len(got) == 0) != c.same {
			t.Errorf("%s: %+v", name, got)
		}
	}
	e = Expected{failed("no", "7"), failed("no", "7")}
	if got := e.Compare(failed("no", `{"dev.mcp-jail/server":7,"dev.mcp-jail/diagnosis":{}}`)); len(got) > 0 {
		t.Errorf("data that are moved: %+v", got)
	}
}

// TestUnsteady tests which answers may be anything in a third session.
func TestUnsteady(t *testing.T) {
	for _, c := range []struct {
		name, was, again string
		unsteady         bool
	}{
		{"the same", "a b", "a b", false},
		{"a time", "at 2026-11-26T21:00:00Z ok", "at 2026-11-26T21:00:01Z ok", false},
		{"a word that changes", "id 7f3a ok", "id 99aa ok", false},
		{"one word, which changes", "7f3a", "99aa", true},
		{"another text", "a b c", "d e", true},
		{"an empty one", "", "", false},
		{"lines in another order", "a\nb", "b\na", false},
		{"a list of another length", `{"a":[1,2]}`, `{"a":[1]}`, true},
		{"a list in another order", `{"a":["x","y"]}`, `{"a":["y","x"]}`, false},
		{"a member of a list", `{"a":["x",{"b":"y"}]}`, `{"a":["x",{"b":"z"}]}`, true},
		{"fails by turns", "x", `{"isError":true,"content":[{"type":"text","text":"x"}]}`, true},
	} {
		e := Expected{answered(c.was), answered(c.again)}
		if got := e.Unsteady(); (len(got) > 0) != c.unsteady {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
