package learncmd

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/asclient"
	"github.com/mcp-jail/mcp-jail/cmd/internal/drive"
	"github.com/mcp-jail/mcp-jail/cmd/internal/handshake"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/learn"
)

// TestNeedsOneProcess tests the reasons for one process that need no round.
func TestNeedsOneProcess(t *testing.T) {
	answer := func(r drive.Request, text string) drive.Answer {
		quoted, _ := json.Marshal(text)
		return drive.Answer{Request: r, Result: json.RawMessage(`{"content":[{"type":"text","text":` + string(quoted) + `}]}`)}
	}
	tools := drive.Answer{Request: drive.Request{Method: "tools/list"}, Result: json.RawMessage(`[{"tools":[{"name":"a"}]}]`)}
	read := drive.Call("a", json.RawMessage("{}"))
	refused := drive.Answer{Request: read, Error: &handshake.ServerError{Message: "not connected"}}
	for name, c := range map[string]struct {
		change func(*lesson)
		want   string
	}{
		"configured":  {func(l *lesson) { l.server.Config = &config.Config{} }, "stateful = false"},
		"sessions":    {func(l *lesson) { l.sessions = 1 }, "sessions of your client"},
		"broken":      {func(l *lesson) { l.expected.First.Broken = errors.New("ended") }, "not each call was answered"},
		"differences": {func(l *lesson) { l.differences = []drive.Difference{{}} }, "not the same"},
		"flood":       {func(l *lesson) { l.left = 1 }, "more than could be noted"},
		"--deny":      {func(l *lesson) { l.t.Argv = []string{"run", "--deny", "x", "--", "s"} }, "its entry has --deny"},
		"--inbound":   {func(l *lesson) { l.t.Argv = []string{"run", "--inbound", "80", "--", "s"} }, "its entry has --inbound"},
		"--preset":    {func(l *lesson) { l.t.Argv = []string{"run", "--preset", "git", "--", "s"} }, "its entry has --preset"},
		"not called":  {func(l *lesson) { l.skipped = []drive.Skipped{{Tool: "b"}} }, "b was never called"},
		"never well":  {func(l *lesson) { l.expected.First.Answers[1], l.expected.Again = refused, nil }, "no call of a succeeded"},
		"unsteady":    {func(l *lesson) { l.expected.Again.Answers[1] = answer(read, "x") }, "another one each time"},
		"has resources": {func(l *lesson) {
			withList(l, drive.Answer{Request: drive.Request{Method: "resources/list"}, Result: json.RawMessage(`{"resources":[{"uri":"a:b"}]}`)})
		}, "it has resources"},
		"has prompts": {func(l *lesson) {
			withList(l, drive.Answer{Request: drive.Request{Method: "prompts/list"}, Result: json.RawMessage(`{"prompts":[{"name":"p"}]}`)})
		}, "it has prompts"},
	} {
		l := &lesson{learnCmd: &learnCmd{}, server: &session.Target{}, t: &asclient.Target{Argv: []string{"run", "--", "s"}}, result: &learn.Result{Stateful: true}}
		l.expected = drive.Expected{First: &drive.Played{Answers: []drive.Answer{tools, answer(read, "a b c")}}, Again: &drive.Played{Answers: []drive.Answer{tools, answer(read, "a b c")}}}
		c.change(l)
		if why, err := (perCall{l}).needsOneProcess(); err != nil || !strings.Contains(why, c.want) {
			t.Errorf("%s: %q, %v", name, why, err)
		}
	}
}

// withList adds a list to those that each session begins with.
func withList(l *lesson, list drive.Answer) {
	for _, p := range []*drive.Played{l.expected.First, l.expected.Again} {
		p.Answers = append([]drive.Answer{p.Answers[0], list}, p.Answers[1:]...)
	}
}

// TestEmptyLists: a server may say that it has resources, and have none.
func TestEmptyLists(t *testing.T) {
	for list, empty := range map[string]bool{`{"resources":[]}`: true, `{"prompts":[]}`: true, `{"resourceTemplates":[{"uriTemplate":"a:{b}"}]}`: false, `{"prompts":[{"name":"p"}]}`: false} {
		if got := isEmptyList(drive.Answer{Result: json.RawMessage(list)}); got != empty {
			t.Errorf("%s: %t", list, got)
		}
	}
}

// TestLosesTable: learned tables do not take the place of one that says more than a lesson can.
func TestLosesTable(t *testing.T) {
	tables := &learn.Result{Tables: []learn.Table{{Tool: config.AnyTool}, {Tool: "a"}}}
	for text, want := range map[string]string{
		"[servers.s.tools.a.access]\nfs = [{ path = \"x\", read = true }]\n": "",
		"[servers.s.tools.b.access]\nfs = []\n":                              "none was learned",
		"[servers.s.tools.a.access]\nfs = [{ path = \"x\" }]\n":              "takes paths away",
		"[servers.s.tools.b]\nwarm = 1\n":                                    "",
	} {
		c, err := config.Decode([]byte("[servers.s]\ncommand = \"s\"\nstateful = false\n"+text), "x")
		if err != nil {
			t.Fatal(err)
		}
		if got := losesTable(c.Servers["s"], tables); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q", text, got)
		}
	}
	if losesTable(&config.Server{Tools: map[string]*config.Tool{"b": {Access: &config.Access{}}}}, &learn.Result{Stateful: true}) != "" {
		t.Error("a table of one process")
	}
}
