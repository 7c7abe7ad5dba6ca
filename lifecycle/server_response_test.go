//go:build unix

package lifecycle

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestErrorToCall: an error answer to a tool call gets a diagnosis where the client reads
// it. Errors without a known cause, and errors to other requests, pass unchanged.
func TestErrorToCall(t *testing.T) {
	t.Parallel()
	p := begin(t, &fake{server: "erring"}, func(s *Session) {
		s.Profile.Entries = []policy.Entry{{Path: "/usr", Rights: policy.Read | policy.Execute}}
		s.Exists = func(string) bool { return true }
	})
	p.send(`{"id":1,"method":"tools/call","params":{"name":"EACCES: permission denied, open '/data/x'"}}`)
	line := p.line()
	var answer struct {
		Error struct {
			Message string
			Data    map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(line), &answer); err != nil {
		t.Fatal(err)
	}
	var told struct {
		Stage, Attribution, Tool, Hint string
		Grant                          []string
	}
	json.Unmarshal(answer.Error.Data["dev.mcp-jail/diagnosis"], &told)
	if told.Stage != "call" || told.Attribution != "likely" || !strings.Contains(told.Hint, "/data/x") || !strings.Contains(strings.Join(told.Grant, "\n"), `path = "/data/x"`) {
		t.Errorf("told %+v in %s", told, line)
	}
	if string(answer.Error.Data["dev.mcp-jail/data"]) != `"EACCES: permission denied, open '/data/x'"` || answer.Error.Message != "failed" {
		t.Errorf("the server's own words are lost: %s", line)
	}
	for _, request := range []string{
		`{"id":1,"method":"tools/call","params":{"name":"no such row"}}`,
		`{"id":1,"method":"resources/read","params":{"name":"EACCES: permission denied, open '/data/x'"}}`,
	} {
		p.send(request)
		if got := p.line(); strings.Contains(got, "mcp-jail") || !strings.HasPrefix(got, `{"jsonrpc":"2.0",  "id":1,`) {
			t.Errorf("%s was answered with %s", request, got)
		}
	}
	p.in.Close()
	p.rest()
	p.ended()
}

// TestForgedDenials: the denials that the jail recorded replace those that the server
// claims.
func TestForgedDenials(t *testing.T) {
	t.Parallel()
	denial := policy.Denial{Axis: policy.AxisFs, Operation: "open", Target: "/secret", Count: 1}
	p := begin(t, &fake{server: "scribe", denials: []policy.Denial{denial}}, nil)
	p.send(`{"id":0,"method":"tools/call","params":{"name":"forge-notes"}}`)
	for _, want := range []string{`"data":"d","_meta":{"a":1}}}`, `"method":"ping","params":{"_meta":{}}}`} {
		if got := strings.TrimSpace(p.line()); !strings.HasSuffix(got, want) {
			t.Errorf("got %q, want %s at the end", got, want)
		}
	}
	p.line()
	p.send(`{"id":1,"method":"tools/call","params":{"name":"forge"}}`)
	got := p.line()
	if strings.Contains(got, "/forged") || strings.Count(got, "dev.mcp-jail/denials") != 1 || !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,"result":{"content":[],"_meta":{"a":1,"dev.mcp-jail/denials":[{`) || !strings.Contains(got, "/secret") {
		t.Errorf("got %q", got)
	}
	p.in.Close()
	p.rest()
	p.ended()
}

// TestAddDiagnosisToError: the diagnosis goes into the data of the error. Every byte of
// the server stays, except members with our reserved names.
func TestAddDiagnosisToError(t *testing.T) {
	t.Parallel()
	const diagnosis = `{"hint":"h"}`
	for in, want := range map[string]string{
		`{"id":1,"error":{"code":-1,"message":"m"}}`:                              `{"id":1,"error":{"code":-1,"message":"m","data":{"dev.mcp-jail/diagnosis":{"hint":"h"}}}}`,
		`{"id":1,"error":{}}`:                                                     `{"id":1,"error":{"data":{"dev.mcp-jail/diagnosis":{"hint":"h"}}}}`,
		`{"error":{"data":{ "a":9007199254740993 },"code":-1.0},"id":"\u0061"}`:   `{"error":{"data":{ "a":9007199254740993 ,"dev.mcp-jail/diagnosis":{"hint":"h"}},"code":-1.0},"id":"\u0061"}`,
		`{"id":1,"error":{"data":{}}}`:                                            `{"id":1,"error":{"data":{"dev.mcp-jail/diagnosis":{"hint":"h"}}}}`,
		`{"id":1,"error":{"data":"it's \"bad\"","code":-1}}`:                      `{"id":1,"error":{"data":{"dev.mcp-jail/data":"it's \"bad\"","dev.mcp-jail/diagnosis":{"hint":"h"}},"code":-1}}`,
		`{"id":1,"error":{"data": [ 1,{"a":2}] }}`:                                `{"id":1,"error":{"data": {"dev.mcp-jail/data":[ 1,{"a":2}],"dev.mcp-jail/diagnosis":{"hint":"h"}} }}`,
		`{"id":1,"error":{"data":1.50}}`:                                          `{"id":1,"error":{"data":{"dev.mcp-jail/data":1.50,"dev.mcp-jail/diagnosis":{"hint":"h"}}}}`,
		`{"id":1,"error":{"data":null}}`:                                          `{"id":1,"error":{"data":{"dev.mcp-jail/data":null,"dev.mcp-jail/diagnosis":{"hint":"h"}}}}`,
		`{"id":1,"error":{"data":{"dev.mcp-jail/diagnosis":"forged"}}}`:           `{"id":1,"error":{"data":{"dev.mcp-jail/diagnosis":{"hint":"h"}}}}`,
		`{"id":1,"error":{"data":{"a":1,"dev.mcp-jail/data":"forged"}}}`:          `{"id":1,"error":{"data":{"a":1,"dev.mcp-jail/diagnosis":{"hint":"h"}}}}`,
		`{"id":1,"error":{"data":"x"},"error":{"message":"the last one counts"}}`: `{"id":1,"error":{"data":"x"},"error":{"message":"the last one counts","data":{"dev.mcp-jail/diagnosis":{"hint":"h"}}}}`,
		`{"id":1,"error":"no object"}`:                                            `{"id":1,"error":"no object"}`,
		`{"id":1,"error":{"data":"` + strings.Repeat("x", 1<<17) + `"}}`:          `{"id":1,"error":{"data":{"dev.mcp-jail/data":"` + strings.Repeat("x", 1<<17) + `","dev.mcp-jail/diagnosis":{"hint":"h"}}}}`,
	} {
		f := mcpproxy.Parse([]byte(in + "\n"))
		e := &f.Messages[0]
		stripReserved(f, e)
		addDiagnosisToError(f, e, []byte(diagnosis))
		got, _ := f.AppendTo(nil)
		if string(got) != want+"\n" || !json.Valid(got) {
			t.Errorf("%.200s\n got %.300s\nwant %.300s", in, got, want)
		}
	}
	f := mcpproxy.Parse([]byte(`{"id":1,"error":{"code":-1,"data":"x"}}`))
	if addDiagnosisToError(f, &f.Messages[0], nil); f.Edited() {
		t.Error("nothing to say, and said")
	}
}

// TestServerOwnFailure: a failure that the jail did not cause keeps its bytes, and nothing
// is said on stderr. When the client has named its roots, a path outside of them is
// reported as that.
func TestServerOwnFailure(t *testing.T) {
	t.Parallel()
	p := begin(t, &fake{server: "guarded"}, nil)
	if got := p.line(); !strings.Contains(got, "roots/list") {
		t.Fatalf("got %q", got)
	}
	const own = `{"jsonrpc": "2.0", "id":1, "result":{"isError":true,"content":[{"type":"text","text":"Access denied - path outside allowed directories: /home/u/.ssh/id_rsa not in /roots/a"}]}}` + "\r\n"
	p.send(callLine)
	if got := p.line(); got != own {
		t.Errorf("before there are roots: %q", got)
	}
	p.send(`{"jsonrpc":"2.0","id":0,"result":{"roots":[{"uri":"file:///roots/a"},{"uri":"https://example.org/"}]}}`)
	var got string
	for range 100 { // the answer is on its way
		p.send(callLine)
		if got = p.line(); got != own {
			break
		}
	}
	if !strings.HasPrefix(got, strings.TrimSuffix(own, "]}}\r\n")) || !strings.Contains(got, `the client has given it \"/roots/a\" as its roots`) || strings.Contains(got, "[[servers") {
		t.Errorf("with roots: %q", got)
	}
	p.in.Close()
	p.rest()
	_, stderr := p.ended()
	if strings.Count(stderr, "mcp-jail: the tool") != 1 {
		t.Errorf("stderr %q", stderr)
	}
	if n := len(p.record.Diagnoses); n < 2 || !p.record.Diagnoses[0].Silent() {
		t.Errorf("record %+v", p.record.Diagnoses)
	}
}

// TestNonMessages: lines of the server's stdout that are no messages go to stderr, and the
// client does not get them.
func TestNonMessages(t *testing.T) {
	t.Parallel()
	p := begin(t, &fake{server: "garbage"}, nil)
	p.send(initialize)
	if got := p.line(); got != answerTo("0", initialize) {
		t.Errorf("got %q", got)
	}
	p.in.Close()
	if got := p.rest(); got != "" {
		t.Errorf("then %q", got)
	}
	_, stderr := p.ended()
	for _, want := range []string{"Listening on stdio\n[INFO] ready\n", "bye"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr lacks %q: %q", want, stderr)
		}
	}
	if n := strings.Count(stderr, "not MCP messages"); n != 1 {
		t.Errorf("%d notes: %q", n, stderr)
	}
}

// TestErrorResults: a failed result gets the denials and a text block.
func TestErrorResults(t *testing.T) {
	t.Parallel()
	denial := policy.Denial{Axis: policy.AxisFs, Operation: "open", Target: "/secret", Count: 1}
	p := begin(t, &fake{server: "failing", denials: []policy.Denial{denial}}, nil)
	p.send(callLine)
	got := p.line()
	const head = `{"jsonrpc": "2.0", "id":1, "result":{"isError":true,"n":9007199254740993,"content":[{"type":"text","text":"EACCES: permission denied, open '/secret'"},{`
	if !strings.HasPrefix(got, head) || !strings.HasSuffix(got, "}}\r\n") || !strings.Contains(got, `"_meta":{"dev.mcp-jail/denials":[{`) || !strings.Contains(got, `"text":"\n[mcp-jail]`) {
		t.Errorf("got %q", got)
	}
	p.send(`{"id":2,"method":"tools/list"}`)
	if got := p.line(); got != `{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"cannot read /secret"}}`+"\n" {
		t.Errorf("got %q", got)
	}
	p.send(initialize)
	if got := p.line(); got != answerTo("0", initialize) {
		t.Errorf("got %q", got)
	}
	p.in.Close()
	p.rest()
	_, stderr := p.ended()
	if len(p.record.Diagnoses) != 2 || p.record.Diagnoses[0].Stage != "call" || p.record.Diagnoses[1].Stage != "list" || !strings.Contains(stderr, "/secret") {
		t.Errorf("record %+v, stderr %q", p.record.Diagnoses, stderr)
	}
}

// TestFailureWithoutDenials: a failed result without denials gets no empty list in _meta,
// which some clients would print.
func TestFailureWithoutDenials(t *testing.T) {
	t.Parallel()
	p := begin(t, &fake{server: "failing"}, nil)
	p.send(callLine)
	if got := p.line(); !strings.Contains(got, "[mcp-jail]") || strings.Contains(got, "_meta") {
		t.Errorf("got %q", got)
	}
	p.in.Close()
	p.rest()
	p.ended()
}

// TestDenialDuringSuccess: a successful result gets _meta and nothing else.
func TestDenialDuringSuccess(t *testing.T) {
	t.Parallel()
	p := begin(t, &fake{server: "polite", denials: []policy.Denial{{Axis: policy.AxisFs, Operation: "open", Target: "/secret", Count: 1}}}, nil)
	p.send(callLine)
	got := p.line()
	want := strings.TrimSuffix(answerTo("1", callLine), "}}\n") + `,"_meta":{"dev.mcp-jail/denials":[`
	if !strings.HasPrefix(got, want) || strings.Contains(got, "[mcp-jail]") {
		t.Errorf("got %q", got)
	}
	p.in.Close()
	p.rest()
	p.ended()
}
