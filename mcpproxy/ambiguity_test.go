package mcpproxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestAmbiguous lists frames of a client in which a server could see another call than the
// proxy does.
func TestAmbiguous(t *testing.T) {
	call := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
	}
	deep := strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth)
	long := strings.Repeat("x", maxText)
	var crowd strings.Builder
	for i := range maxKeys + 1 {
		fmt.Fprintf(&crowd, `"x%d":0,`, i)
	}
	for _, tt := range []struct {
		flaw           Flaw
		reader, frames string // the reader that sees another call; one frame a line
	}{
		{FlawDuplicate, "the first one counts, or the last one, or both are refused", `
			{"id":1,"method":"tools/call","params":{"name":"a"},"params":{"name":"b"}}
			{"id":1,"method":"tools/call","method":"tools/list","params":{"name":"a"}}
			{"id":1,"id":2,"method":"tools/call","params":{"name":"a"}}
			{"id":1,"i\u0064":2,"method":"tools/call","params":{"name":"a"}}
			{"id":1,"method":"tools/call","p\u0061rams":{"name":"a"},"params":{"name":"b"}}
			{"id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":1},"_meta":{}}}
			{"jsonrpc":"2.0","jsonrpc":"1.0","id":1,"method":"ping"}
			[{"id":1,"method":"ping"},{"id":2,"method":"tools/call","params":{"name":"a","name":"b"}}]`},
		{FlawCase, "encoding/json and others do not care for case", `
			{"id":1,"method":"tools/call","params":{"name":"a"},"Params":{"name":"b"}}
			{"id":1,"method":"tools/call","paramſ":{"name":"b"},"params":{"name":"a"}}
			{"id":1,"method":"tools/call","params":{"name":"a","Name":"b"}}
			{"id":1,"ID":2,"method":"tools/call","params":{"name":"a"}}
			{"ID":2,"method":"tools/call","params":{"name":"a"}}
			{"id":1,"Method":"tools/call","params":{"name":"a"}}
			{"id":1,"method":"ping","\u004dethod":"tools/call","params":{"name":"a"}}
			{"id":1,"method":"tools/call","params":{"name":"a","_Meta":{}}}
			{"id":1,"method":"tools/call","params":{"name":"a","_meta":{"ProgreſſToKen":1}}}
			{"id":1,"method":"ping","x":1,"X":2}
			[{"id":1,"method":"ping"},{"id":1,"method":"tools/call","params":{"name":"a","nAme":"b"}}]`},
		{FlawCase, "the letters that lower or upper case, or full folding, makes ASCII", `
			{"İd":2,"method":"tools/call","params":{"name":"a"}}
			{"id":1,"ıd":2,"method":"tools/call","params":{"name":"a"}}
			{"id":1,"method":"tools/call","params":{"name":"a","_meta":{"progreßToken":1}}}
			{"method":"notifications/cancelled","params":{"requestId":1,"requeﬆId":2}}`},
		{FlawCase, "methods in another case, or trimmed", `
			{"id":1,"method":"Tools/Call","params":{"name":"a"}}
			{"id":1,"method":"tools/call\n","params":{"name":"a"}}
			{"id":1,"method":"toolſ/call\u00a0","params":{"name":"a"}}`},
		{FlawText, "what is no text is replaced, left out or refused", "\n" +
			"{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a\xff\"}}\n" +
			"{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a\"},\"params\xc0\":{}}\n" +
			"{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a\",\"arguments\":{\"x\":\"\xc0\xa2\"}}}\n" + // an overlong quote
			"{\"id\":\"\xed\xa0\x80\",\"method\":\"ping\"}\n" +
			byteOrderMark + `{"id":1,"method":"ping"}` + `
			{"id":1,"method":"tools/call","params":{"name":"a\ud800"}}
			{"id":"a\ud800\u0061","method":"tools/call","params":{"name":"a"}}
			{"id":1,"method":"ping","p\ud800":1}`},
		{FlawText, "NUL ends a name", `
			{"id":1,"method":"tools/call","params":{"name":"a\u0000b"}}
			{"id":1,"method":"tools/call\u0000"}
			{"id":1,"method":"tools/call","params":{"name":"a","name\u0000":"b"}}`},
		{FlawTrailing, "what follows is another message, or the one that counts", `
			{"id":1,"method":"ping"}{"id":2,"method":"tools/call","params":{"name":"a"}}
			{"id":1,"method":"ping"}` + "\x00" + `
			{"id":1,"method":"ping"}` + "\u2028" + `{"id":2,"method":"tools/call","params":{"name":"a"}}
			{"id":1,"method":"ping"}` + "\v" + `{"id":2,"method":"tools/call","params":{"name":"a"}}
			{"id":1,"method":"ping"}` + "\r" + `{"id":2,"method":"tools/call","params":{"name":"a"}}
			[{"id":1,"method":"ping"}],`},
		{FlawLine, "a carriage return ends a line for Python, Java and Node's readline", `
			{"id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":` + "\r" + `{"id":2,"method":"tools/call","params":{"name":"b"}}` + "\r" + `}}}
			[` + "\r" + `{"id":1,"method":"ping"}]
			[{"id":1,"method":"ping"}` + "\r" + `]
			{"id":1,"method":` + "\r" + `"ping"}
			{"id":1,` + "\r" + `"method":"ping"}`},
		{FlawMalformed, "readers that permit more than JSON, or end lines elsewhere", `
			{"id":1,"method":"tools/call","params":{"name":"a"},}
			{"id":1,"method":"tools/call","params":{"name":"a",/**/"name":"b"}}
			{'id':1,"method":"ping"}
			{id:1,"method":"ping"}
			{"id":01,"method":"ping"}
			{"id":1,"method":"ping"
			{"id":1,"method":"a` + "\t" + `"}
			{"id":1,"method":"a` + "\r" + `"}
			{"id":1,"method":"a\x41"}
			{"id":1,` + "\f" + `"method":"ping"}
			{"id":1,` + "\u2028" + `"method":"ping"}
			{"id":1,` + byteOrderMark + `"method":"ping"}
			` + call(`{"name":"a","arguments":{"x":`+deep+`}}`) + `
			Content-Length: 50`},
		{FlawID, "the id is text for one, nothing for the other", `
			{"id":[1],"method":"tools/call","params":{"name":"a"}}
			{"id":{},"method":"tools/call","params":{"name":"a"}}
			{"id":true,"method":"tools/call","params":{"name":"a"}}
			{"id":NaN,"method":"tools/call","params":{"name":"a"}}`},
		{FlawShape, "a property that is looked up by what is no string, or found in a prototype; parameters by position", `
			{"id":1,"method":["tools/call"],"params":{"name":"a"}}
			{"id":1,"method":7}
			` + call(`{"name":["a"]}`) + `
			` + call(`{"name":null}`) + `
			` + call(`{"arguments":{}}`) + `
			` + call(`{"__proto__":{"name":"a"}}`) + `
			` + call(`["a",{}]`) + `
			` + call(`null`) + `
			{"id":1,"method":"tools/call"}
			{"id":1,"method":"tools/call","__proto__":{"params":{"name":"a"}}}
			{"id":1,"method":"tools/call","params":{"name":"a"},"result":{}}
			{"id":1,"method":"ping","error":{"code":1}}`},
		{FlawBounds, "what is not looked into", `
			` + call(`{"name":"`+long+`x"}`) + `
			` + call(`{"name":"a","`+long+`x":1}`) + `
			{"id":"` + long + `","method":"ping"}
			` + call(`{`+crowd.String()+`"name":"a"}`) + `
			{` + crowd.String() + `"id":1,"method":"ping"}
			[` + strings.Repeat(`{"id":1,"method":"ping"},`, maxBatch) + `{"id":2,"method":"tools/call","params":{"name":"a"}}]`},
		{0, "everybody sees the same", `
			` + call(`{"name":"a"}`) + `
			` + call(`{"name":"a","arguments":{"name":"b","NAME":1,"x":1,"x":2,"params":{"name":"c"},"method":["x"]},"task":{}}`) + "\r" + `
			` + "\r " + call(`{ "name" : "a" ,	"_meta":{"progressToken":"\u0061","x/y":null}}`) + " \r" + `
			` + call(`{"name":"a","arguments":{"x":"`+"\u2028\u0085\x7f"+`\u0000\ud800\r\n"}}`) + `
			` + call(`{"name":"a","arguments":{"x":1E400,"y":123456789012345678901234567890}}`) + `
			{"id":9007199254740993,"method":"tools\/call","params":{"name":"\u00e9ſİß"}}
			{"id":1,"method":"ping","params":null}
			{"id":1,"method":"initialize","params":{"capabilities":{"roots":{}},"clientInfo":{"name":"x"}}}
			{"id":1,"result":{},"method":null,"error":null}
			{"id":1,"error":{"code":1},"params":null}
			{"method":"notifications/initialized"}
			{"id":1,"method":"tools/list"}
			{"id":1,"method":"tools/caller"}
			[{"id":1,"method":"ping"},7]
			[[{"id":1,"method":"tools/call","params":{"name":"a"}}],{"id":2,"method":"ping"}]`},
		{FlawNumber, "a number for Python, and no message for the others", `
			` + call(`{"name":"a","arguments":{"x":[NaN,-Infinity,Infinity]}}`)},
	} {
		for _, line := range strings.Split(strings.TrimPrefix(tt.frames, "\n"), "\n") {
			line = strings.TrimLeft(line, "\t")
			f := frameOf(t, line+"\n")
			if f.Flaws&tt.flaw != tt.flaw || tt.flaw == 0 && f.Flaws != 0 {
				t.Errorf("%.150q: flaws %b, want %b (%s)", line, f.Flaws, tt.flaw, tt.reader)
			}
			if want := tt.flaw != 0 && tt.flaw != FlawNumber; f.Flaws.Ambiguous() != want {
				t.Errorf("%.150q: ambiguous %v", line, !want)
			}
		}
	}
}

// asked is the call that a reader sees in a message.
type asked struct{ id, method, name string }

// folds holds the ways in which readers compare member names.
var folds = map[string]func(a, b string) bool{
	"exact": func(a, b string) bool { return a == b },
	"Go":    strings.EqualFold,
	"lower": func(a, b string) bool { a, b = strings.ToLower(a), strings.ToLower(b); return a == b },
	"upper": func(a, b string) bool { a, b = strings.ToUpper(a), strings.ToUpper(b); return a == b },
	"Java": func(a, b string) bool {
		each := func(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }
		return strings.Map(each, a) == strings.Map(each, b)
	},
	"C": func(a, b string) bool {
		a, _, _ = strings.Cut(a, "\x00")
		b, _, _ = strings.Cut(b, "\x00")
		return a == b
	},
}

// members returns the names and values of an object in order.
func members(raw json.RawMessage) (names []string, values []json.RawMessage) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, nil
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return nil, nil
		}
		names, values = append(names, name.(string)), append(values, value)
	}
	return names, values
}

// pick returns the first or last member with a name.
func pick(raw json.RawMessage, name string, same func(a, b string) bool, first bool) (found json.RawMessage) {
	names, values := members(raw)
	for i := range names {
		if same(names[i], name) && (found == nil || !first) {
			found = values[i]
		}
	}
	return found
}

func text(raw json.RawMessage) (s string) {
	json.Unmarshal(raw, &s)
	return s
}

// FuzzAmbiguous checks frames without flaws: every reader sees the call of the envelope,
// whichever of two members it takes, however it compares names and wherever it ends lines.
func FuzzAmbiguous(f *testing.F) {
	for _, s := range testkit.Table[string](f, "ambiguous-seeds.txt") {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data, _, _ = bytes.Cut(data, []byte("\n"))
		fr := Parse(data)
		if fr.Flaws.Ambiguous() || fr.firstByte != '{' {
			return
		}
		e := &fr.Messages[0]
		ours := asked{string(e.ID), string(e.Method), string(e.Name)}
		for how, same := range folds {
			for _, first := range []bool{true, false} {
				for _, line := range strings.FieldsFunc(string(data), func(r rune) bool { return strings.ContainsRune("\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029", r) }) {
					raw := json.RawMessage(line)
					method := text(pick(raw, "method", same, first))
					if !json.Valid(raw) || strings.ToLower(strings.TrimSpace(method)) != methodToolsCall {
						continue
					}
					theirs := asked{string(pick(raw, "id", same, first)), method, text(pick(pick(raw, "params", same, first), "name", same, first))}
					if theirs != ours {
						t.Fatalf("%q: we see %q, and %s (the first: %v) sees %q", data, ours, how, first, theirs)
					}
				}
			}
		}
	})
}

// TestSameName uses unicode.IsSpace as the oracle for white space.
func TestSameName(t *testing.T) {
	for r := range rune(unicode.MaxRune) {
		name := string(r) + "write" + string(r)
		if unicode.IsSpace(r) && !SameName([]byte(name), []byte("write")) {
			t.Errorf("%q and %q are not alike", name, "write")
		}
	}
	for _, names := range [][2]string{
		{"write", "Write"}, {"write", " write\n"}, {"search", "ſearch"}, {"kill", "\u212aill"}, {"list", "lİst"}, {"LIST", "lıst"}, {"pass", "paß"},
		{"a", "\ufeffa\u00a0"}, {"a", "a\x00"}, {"é", "É"}, {"same", "same"}, {"fire", "ﬁre"},
	} {
		if !SameName([]byte(names[0]), []byte(names[1])) || !SameName([]byte(names[1]), []byte(names[0])) {
			t.Errorf("%q and %q are not alike", names[0], names[1])
		}
	}
	for _, names := range [][2]string{{"a", "b"}, {"a", "a b"}, {"", "a"}, {"write_file", "write-file"}, {"e", "é"}} {
		if SameName([]byte(names[0]), []byte(names[1])) {
			t.Errorf("%q and %q are alike", names[0], names[1])
		}
	}
}
