package mcpproxy

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestAddMeta(t *testing.T) {
	const name, value = "dev.mcp-jail/denials", `{"v":1}`
	for in, want := range testkit.Named[string](t, "meta-added.txt") {
		f, err := NewReader(strings.NewReader(in+"\r\n"), 0).Next()
		testkit.Must(t, err)
		e := &f.Messages[0]
		ok := f.AddMeta(&e.Result, &e.ResultMeta, name, []byte(value))
		var out bytes.Buffer
		testkit.Must(t, NewWriter(&out).Send(f))
		if want == "" && !ok {
			want = in
		}
		if out.String() != want+"\r\n" {
			t.Errorf("%s\n got %s\nwant %s", in, out.String(), want)
		}
	}
}

// TestAmendBoth adds an element of content and a member of _meta to one frame, small and
// too large for memory, with _meta on either side of content.
func TestAmendBoth(t *testing.T) {
	smallFrames(t)
	for _, size := range []int{0, 10, 1 << 17, maxInMemory + 1} {
		pad := strings.Repeat("x", size)
		for in, want := range map[string]string{
			`{"id":1,"result":{"content":[{"text":"` + pad + `"}],"isError":true}}` + "\n":       `{"id":1,"result":{"content":[{"text":"` + pad + `"},{"b":2}],"isError":true,"_meta":{"k":1}}}` + "\n",
			`{"id":1,"result":{"_meta":{"p":"` + pad + `"},"content":[],"isError":true}}` + "\n": `{"id":1,"result":{"_meta":{"p":"` + pad + `","k":1},"content":[{"b":2}],"isError":true}}` + "\n",
		} {
			f, err := NewReader(strings.NewReader(in), 0).Next()
			testkit.Must(t, err)
			e := &f.Messages[0]
			if !f.AddMeta(&e.Result, &e.ResultMeta, "k", []byte("1")) || !f.AddElement(&e.Content, []byte(`{"b":2}`)) {
				t.Errorf("with %d bytes of padding: refused", size)
			}
			var out bytes.Buffer
			testkit.Must(t, NewWriter(&out).Send(f))
			if out.String() != want {
				t.Errorf("with %d bytes of padding: wrong at the end: %q", size, out.String()[max(0, out.Len()-80):])
			}
		}
	}
}

// TestCutBlanks cuts members out of a frame in a file, with more blanks around them than are read
// at once.
func TestCutBlanks(t *testing.T) {
	smallFrames(t)
	for _, n := range []int{1, 4096, 9000} {
		blanks := strings.Repeat(" ", n)
		b := func(s string) string { return strings.ReplaceAll(s, "_", blanks) }
		pad := `"pad":"` + strings.Repeat("x", maxInMemory) + `"`
		for in, want := range map[string]string{
			`_"dev.mcp-jail/a":1_`:                              `__`,
			`_"dev.mcp-jail/a":1_,_"dev.mcp-jail/b":{}_`:        `__`,
			`_"a":1_,_"dev.mcp-jail/b":2_`:                      `_"a":1__`,
			`_"dev.mcp-jail/b":2_,_"a":1_`:                      `_"a":1_`,
			`_"a":1_,_"dev.mcp-jail/b":2_,_"c":"\ud83d\ude00"_`: `_"a":1_,_"c":"\ud83d\ude00"_`,
		} {
			message := func(members string) string {
				return `{"params":{` + pad + `,"#meta":{` + b(members) + "}}}\n"
			}
			in, want = strings.ReplaceAll(message(in), "#", "_"), strings.ReplaceAll(message(want), "#", "_")
			f, err := NewReader(strings.NewReader(in), 0).Next()
			if err != nil || f.spill == nil {
				t.Fatalf("%v, in a file: %v", err, f.spill != nil)
			}
			f.Cut(f.Messages[0].Reserved, &f.Messages[0].ParamsMeta)
			var out bytes.Buffer
			if err := NewWriter(&out).Send(f); err != nil || out.String() != want {
				t.Errorf("%d blanks: %v, got %d bytes, want %d: %.200q", n, err, out.Len(), len(want), out.String()[maxInMemory:])
			}
		}
	}
}

// TestCutReserved checks that reserved members are found and cut out wherever some reader
// would see them, and nowhere else.
func TestCutReserved(t *testing.T) {
	for in, want := range testkit.Named[string](t, "reserved-cut.txt") {
		if want == "" {
			want = in
		}
		for _, src := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in))} {
			f, err := NewReader(src, 0).Next()
			testkit.Must(t, err)
			for i := range f.Messages {
				e := &f.Messages[i]
				f.Cut(e.Reserved, &e.ResultMeta)
			}
			if got := sent(t, f); got != want {
				t.Errorf("%s\n got %s\nwant %s", in, got, want)
			}
		}
	}
}

// TestCutThenAdd replaces a forged member and expects no duplicate.
func TestCutThenAdd(t *testing.T) {
	smallFrames(t)
	for _, pad := range []int{0, 1 << 17, maxInMemory + 1} {
		long := strings.Repeat("x", pad)
		for in, want := range map[string]string{
			`{"id":1,"result":{"_meta":{ "dev.mcp-jail/denials":["` + long + `"] },"content":[]}}`:   `{"id":1,"result":{"_meta":{  "dev.mcp-jail/denials":[7]},"content":[]}}`,
			`{"id":1,"result":{"_meta":{"dev.mcp-jail/denials":1,"a":"` + long + `"},"content":[]}}`: `{"id":1,"result":{"_meta":{"a":"` + long + `","dev.mcp-jail/denials":[7]},"content":[]}}`,
		} {
			f := frameOf(t, in)
			e := &f.Messages[0]
			f.Cut(e.Reserved, &e.ResultMeta)
			f.AddMeta(&e.Result, &e.ResultMeta, "dev.mcp-jail/denials", []byte("[7]"))
			if got := sent(t, f); got != want {
				t.Errorf("with %d bytes of padding: %.200s", pad, got)
			}
		}
	}
}

func TestReplace(t *testing.T) {
	f := frameOf(t, `{"id":1,"params":{"name":"x","capabilities":{"roots":{},"experimental":{"a":1}}}}`)
	e := &f.Messages[0]
	if !f.Replace(e.Roots, []byte("null")) || f.Replace(e.Result, []byte("1")) {
		t.Error("roots are there, and a result is not")
	}
	f.AddMember(&e.Experimental, "b", []byte("2"))
	f.AddMember(&e.Self, "z", []byte("3"))
	if got, want := sent(t, f), `{"id":1,"params":{"name":"x","capabilities":{"roots":null,"experimental":{"a":1,"b":2}}},"z":3}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// FuzzCut checks that Cut leaves the message without those members.
func FuzzCut(f *testing.F) {
	for _, s := range []string{
		`{"result":{"_meta":{"dev.mcp-jail/a":1,"b":2}}}`, `{"result":{"_meta":{ "b":2 , "dev.mcp-jail/a":{} }}}`, `{"error":{"data":{"dev.mcp-jail/a":"x"}}}`,
		`{"result":{"_meta":{"dev.mcp-jail/a":[{}],"dev.mcp-jail/b":-1e5}},"id":1}`, `{"params":{"_meta":{"dev.mcp-jail/a":true},"capabilities":{"experimental":{"dev.mcp-jail/x":{}}}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data, _, _ = bytes.Cut(data, []byte("\n"))
		fr, err := NewReader(bytes.NewReader(data), 0).Next()
		if err != nil || !fr.Flaws.IsStrict() || fr.firstByte != '{' {
			return
		}
		var want map[string]any
		testkit.Must(t, json.Unmarshal(data, &want))
		n := 0
		for _, path := range [][]string{{"params", "_meta"}, {"params", "capabilities", "experimental"}, {"result", "_meta"}, {"error", "data"}} {
			at := want
			for _, name := range path {
				at, _ = at[name].(map[string]any)
			}
			for name := range at {
				if len(name) > len(ReservedPrefix) && strings.HasPrefix(name, ReservedPrefix) {
					delete(at, name)
					n++
				}
			}
		}
		e := &fr.Messages[0]
		if len(e.Reserved) != n {
			t.Fatalf("%q: %d members found, %d are there", data, len(e.Reserved), n)
		}
		fr.Cut(e.Reserved, &e.ResultMeta)
		var got map[string]any
		if err := json.Unmarshal([]byte(sent(t, fr)), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q became %q: %v", data, sent(t, fr), err)
		}
	})
}
