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

// TestAmbiguous tests frames of a client in which a server could see another call than the proxy does.
// testdata/ambiguous.txt has them, and says which server.
func TestAmbiguous(t *testing.T) {
	flaws := map[string]Flaw{
		"none": 0, "duplicate": FlawDuplicate, "case": FlawCase, "text": FlawText, "trailing": FlawTrailing, "line": FlawLine, "malformed": FlawMalformed,
		"id": FlawID, "shape": FlawShape, "bounds": FlawBounds, "number": FlawNumber,
	}
	var crowd strings.Builder
	for i := range maxKeys + 1 {
		fmt.Fprintf(&crowd, `"x%d":0,`, i)
	}
	for _, tt := range testkit.Table[struct{ flaw, frame string }](t, "ambiguous.txt", "<crowd>", crowd.String(), "<long>", strings.Repeat("x", maxText),
		"<deep>", strings.Repeat("[", maxDepth)+strings.Repeat("]", maxDepth), "<batch>", strings.Repeat(`{"id":1,"method":"ping"},`, maxBatch)) {
		want, known := flaws[tt.flaw]
		f := frameOf(t, tt.frame+"\n")
		if f.Flaws&want != want || want == 0 && f.Flaws != 0 || !known {
			t.Errorf("%.150q: flaws %b, want %b (%s)", tt.frame, f.Flaws, want, tt.flaw)
		}
		if want := want != 0 && want != FlawNumber; f.Flaws.Ambiguous() != want {
			t.Errorf("%.150q: ambiguous %v", tt.frame, !want)
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
