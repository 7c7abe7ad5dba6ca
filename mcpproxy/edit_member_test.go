package mcpproxy

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestAddMeta(t *testing.T) {
	const name, value = "dev.mcp-jail/denials", `{"v":1}`
	for in, want := range map[string]string{
		`{"id":1,"result":{}}`:                                  `{"id":1,"result":{"_meta":{"dev.mcp-jail/denials":{"v":1}}}}`,
		`{"id":1,"result":{ "isError":true }}`:                  `{"id":1,"result":{ "isError":true ,"_meta":{"dev.mcp-jail/denials":{"v":1}}}}`,
		`{"result":{"_meta":{}, "x":9007199254740993},"id":1}`:  `{"result":{"_meta":{"dev.mcp-jail/denials":{"v":1}}, "x":9007199254740993},"id":1}`,
		`{"result":{"\u005fmeta":{"a":[{}]},"x":"\u00e9"}}`:     `{"result":{"\u005fmeta":{"a":[{}],"dev.mcp-jail/denials":{"v":1}},"x":"\u00e9"}}`,
		`{"result":{"_meta":null}}`:                             "",
		`{"result":{"_meta":[]}}`:                               "",
		`{"result":"text"}`:                                     "",
		`{"result":[]}`:                                         "",
		`{"error":{"_meta":{}}}`:                                "",
		`{"result":{"_meta":{"a":1}},"result":{"b":{"c":{}}}} `: `{"result":{"_meta":{"a":1}},"result":{"b":{"c":{}},"_meta":{"dev.mcp-jail/denials":{"v":1}}}} `,
	} {
		f, err := NewReader(strings.NewReader(in+"\r\n"), 0).Next()
		if err != nil {
			t.Fatal(err)
		}
		e := &f.Messages[0]
		ok := f.AddMeta(&e.Result, &e.ResultMeta, name, []byte(value))
		var out bytes.Buffer
		if err := NewWriter(&out).Send(f); err != nil {
			t.Fatal(err)
		}
		if want == "" && !ok {
			want = in
		}
		if out.String() != want+"\r\n" || f.Edited() != ok {
			t.Errorf("%s\n got %s\nwant %s", in, out.String(), want)
		}
	}
}

// TestAmendBoth: an element of content and a member of _meta in one frame, small
// and too large for memory, with _meta on either side of content.
func TestAmendBoth(t *testing.T) {
	for _, size := range []int{0, 10, 1 << 17, maxInMemory + 1} {
		pad := strings.Repeat("x", size)
		for in, want := range map[string]string{
			`{"id":1,"result":{"content":[{"text":"` + pad + `"}],"isError":true}}` + "\n":       `{"id":1,"result":{"content":[{"text":"` + pad + `"},{"b":2}],"isError":true,"_meta":{"k":1}}}` + "\n",
			`{"id":1,"result":{"_meta":{"p":"` + pad + `"},"content":[],"isError":true}}` + "\n": `{"id":1,"result":{"_meta":{"p":"` + pad + `","k":1},"content":[{"b":2}],"isError":true}}` + "\n",
		} {
			f, err := NewReader(strings.NewReader(in), 0).Next()
			if err != nil {
				t.Fatal(err)
			}
			e := &f.Messages[0]
			if !f.AddMeta(&e.Result, &e.ResultMeta, "k", []byte("1")) || !f.AddElement(&e.Content, []byte(`{"b":2}`)) {
				t.Error("refused")
			}
			var out bytes.Buffer
			if err := NewWriter(&out).Send(f); err != nil {
				t.Fatal(err)
			}
			if out.String() != want {
				t.Errorf("with %d bytes of padding: wrong at the end: %q", size, out.String()[max(0, out.Len()-80):])
			}
		}
	}
}

func TestAddTwice(t *testing.T) {
	f, err := NewReader(strings.NewReader(`{"result":{"content":[]},"params":{}}`), 0).Next()
	if err != nil {
		t.Fatal(err)
	}
	e := &f.Messages[0]
	for _, v := range []string{"1", "2"} {
		f.AddMember(&e.Params, "m"+v, []byte(v))
		f.AddElement(&e.Content, []byte(v))
	}
	var out bytes.Buffer
	NewWriter(&out).Send(f)
	if want := `{"result":{"content":[1,2]},"params":{"m1":1,"m2":2}}`; out.String() != want {
		t.Errorf("got %s, want %s", out.String(), want)
	}
}

func FuzzSplice(f *testing.F) {
	for _, s := range []string{
		`{"id":1,"result":{}}`, `{"result":{"_meta":{},"content":[]}}`, `{"result":{"content":[1],"_meta":{"a":{}}},"id":"x"}`, `[{"result":{}},{"result":{"_meta":{}}}]`, `{"result":{"isError":true , "content" : [ ] } }`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data, _, _ = bytes.Cut(data, []byte("\n"))
		fr, err := NewReader(bytes.NewReader(data), 0).Next()
		if err != nil || !fr.Flaws.IsStrict() || fr.firstByte != '{' {
			return
		}
		e := &fr.Messages[0]
		var want map[string]any
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		result, _ := want["result"].(map[string]any)
		content, isArray := result["content"].([]any)
		if fr.AddElement(&e.Content, []byte(`{"added":true}`)) != isArray {
			t.Fatalf("%q: content at %+v", data, e.Content)
		}
		if isArray {
			result["content"] = append(content, map[string]any{"added": true})
		}
		meta, has := result["_meta"]
		object, isObject := meta.(map[string]any)
		if _, taken := object["added"]; taken {
			return
		}
		if fr.AddMeta(&e.Result, &e.ResultMeta, "added", []byte("1")) != (result != nil && (!has || isObject)) {
			t.Fatalf("%q: result at %+v, _meta at %+v", data, e.Result, e.ResultMeta)
		}
		if result != nil && !has {
			result["_meta"] = map[string]any{"added": 1.0}
		} else if isObject {
			object["added"] = 1.0
		}
		var out bytes.Buffer
		if err := NewWriter(&out).Send(fr); err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatalf("%q became %q: %v", data, out.Bytes(), err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q became %q", data, out.Bytes())
		}
	})
}
