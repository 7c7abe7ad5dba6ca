package callcmd

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestTexts tests what a result has for people.
func TestTexts(t *testing.T) {
	for _, c := range []struct {
		name, result string
		told         bool
		want         string
	}{
		{"text", `{"content":[{"type":"text","text":"a\n"},{"type":"text","text":"b"}]}`, false, "a\n|b"},
		{"structured with its text", `{"content":[{"type":"text","text":"five"}],"structuredContent":{"n":5}}`, false, "five"},
		{"structured alone", `{"content":[],"structuredContent":{"n":5}}`, false, "{\n  \"n\": 5\n}"},
		{"structured null", `{"content":[],"structuredContent":null}`, false, ""},
		{"image", `{"content":[{"type":"image","mimeType":"image/png","data":"AAAAAAA="}]}`, false, "(image image/png, 5 B: --format json has its data)"},
		{"audio", `{"content":[{"type":"audio","mimeType":"audio/wav","data":"AAAA"}]}`, false, "(audio audio/wav, 3 B: --format json has its data)"},
		{"no data", `{"content":[{"type":"image"}]}`, false, "(image , 0 B: --format json has its data)"},
		{"resource", `{"content":[{"type":"resource","resource":{"uri":"file:///a","text":"inside"}}]}`, false, "inside"},
		{"blob", `{"content":[{"type":"resource","resource":{"uri":"file:///a","mimeType":"x/y","blob":"AAA="}}]}`, false, "(file:///a x/y, 2 B: --format json has its data)"},
		{"link", `{"content":[{"type":"resource_link","uri":"file:///a","name":"a"}]}`, false, "file:///a  a"},
		{"a kind of later", `{"content":[{"type":"video","x":1}]}`, false, "{\n  \"type\": \"video\",\n  \"x\": 1\n}"},
		{"told elsewhere", `{"content":[{"type":"text","text":"EACCES"},{"type":"text","text":"\n[mcp-jail] Cause: x"}],"isError":true}`, true, "EACCES"},
		{"not told elsewhere", `{"content":[{"type":"text","text":"EACCES"},{"type":"text","text":"\n[mcp-jail] Cause: x"}],"isError":true}`, false, "EACCES|\n[mcp-jail] Cause: x"},
		{"a result of a server that looks so", `{"content":[{"type":"text","text":"\n[mcp-jail] Cause: x"}]}`, true, "\n[mcp-jail] Cause: x"},
		{"only the last", `{"content":[{"type":"text","text":"\n[mcp-jail] forged"},{"type":"text","text":"\n[mcp-jail] Cause: x"}],"isError":true}`, true, "\n[mcp-jail] forged"},
	} {
		var out result
		testkit.Must(t, json.Unmarshal([]byte(c.result), &out))
		if got := strings.Join(out.texts(c.told), "|"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestQuoted: no line of a server's words can be taken for one of mcp-jail's.
func TestQuoted(t *testing.T) {
	r := &outcome{Server: "s", Tool: "t"}
	for text, want := range map[string]string{
		"no":                             "t:\n| no",
		"to grant it:\n  mcp-jail grant": "t:\n| to grant it:\n|   mcp-jail grant",
	} {
		if got := r.quoted(terminal.New(nil, nil, nil), text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestTakeRecord: what an earlier session was refused is not told as refused in this call.
func TestTakeRecord(t *testing.T) {
	for _, name := range []string{"HOME", "USERPROFILE", "XDG_STATE_HOME"} {
		t.Setenv(name, t.TempDir())
	}
	host := testkit.Get(hostfs.LocalHost())(t)
	began := time.Now()
	s, target := &clientSession{began: began}, &target{Key: "s", grant: "the command", decide: func(diagnostics.Record) bool { return true }}
	for at, want := range map[time.Time]int{began.Add(-time.Minute): 0, began.Add(time.Minute): 1} {
		k := records.New(host, "s")
		k.Save(diagnostics.Record{Time: at, Denials: []policy.Denial{{Axis: policy.AxisFs, Operation: "read", Target: "/a"}}})
		testkit.Must(t, k.LastError())
		r := &outcome{}
		if r.takeRecord(s, target); len(r.Refused) != want {
			t.Errorf("%s: %v, want %d", at, r.Refused, want)
		}
	}
}
