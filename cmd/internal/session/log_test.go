package session

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/undo"
)

// TestLogHasNoToken: no form of a token that the server has reaches the log, and no text of the server makes an event.
func TestLogHasNoToken(t *testing.T) {
	const token = "Sup3rS3cretTokenOfTickets"
	forms := map[string]string{
		"as it is": token, "in hex": hex.EncodeToString([]byte(token)), "in HEX": strings.ToUpper(hex.EncodeToString([]byte(token))),
		"in base64": base64.StdEncoding.EncodeToString([]byte(token)), "in base64 for URLs": base64.RawURLEncoding.EncodeToString([]byte(token)),
	}
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			var lines []string
			l := NewLog(func(line []byte) bool { lines = append(lines, string(line)); return true })
			l.hide([]policy.Variable{{Name: "TICKETS_TOKEN", Value: token, Secret: true}})
			text := "x\",\"event\":\"grant\u202e\n" + form
			l.begun(text, form)
			l.called(&mcpproxy.Call{ID: []byte(`"` + form + `"`), Method: []byte("tools/call"), Tool: []byte(text), Start: time.Now()}, nil)
			l.changed([]undo.Event{{Change: &undo.Change{Path: "/home/u/" + text}, Operation: "made"}}, true)
			l.denials = []policy.Denial{{Axis: policy.AxisFs, Operation: "open", Target: "/tmp/" + text, Tool: text}, {Axis: policy.AxisNet, Operation: "resolve", Target: strings.ToLower(form) + ".example.com"}}
			l.ended("client")
			var events []string
			for _, line := range lines {
				var is struct{ Event string }
				if err := json.Unmarshal([]byte(line), &is); err != nil {
					t.Fatal(err)
				}
				events = append(events, is.Event)
				if strings.Contains(strings.ToLower(line), strings.ToLower(form)) || strings.ContainsAny(line[:len(line)-1], "\u202e\n") {
					t.Errorf("%s", line)
				}
			}
			if got := strings.Join(events, " "); got != "start call changed refused refused" {
				t.Errorf("events: %s", got)
			}
		})
	}
}

// TestLogCutOff: the name of a tool is cut off before it comes to the log, and what is left of a token does not reach it.
func TestLogCutOff(t *testing.T) {
	var line string
	l := NewLog(func(text []byte) bool { line = string(text); return true })
	l.hide([]policy.Variable{{Name: "TICKETS_TOKEN", Value: strings.Repeat("Sup3rS3cret-", 40), Secret: true}})
	l.called(&mcpproxy.Call{ID: []byte("1"), Method: []byte("tools/call"), Tool: []byte(strings.Repeat("Sup3rS3cret-", 40)[:mcpproxy.MaxTool])}, nil)
	if strings.Contains(line, "Sup3r") || !strings.Contains(line, "redacted TICKETS_TOKEN") {
		t.Errorf("%s", line)
	}
}

// TestLogEnd: the last line tells why mcp-jail has ended a session.
func TestLogEnd(t *testing.T) {
	for name, row := range map[string]struct {
		by   string
		exit confine.Exit
		err  error
		want string
	}{
		"its client":        {lifecycle.ByUs + " not", confine.Exit{Code: 1}, nil, ""},
		"all is well":       {lifecycle.ByUs, confine.Exit{}, nil, ""},
		"not ready in time": {lifecycle.ByUs, confine.Exit{Code: 1}, nil, "start"},
		"not started":       {lifecycle.ByUs, confine.Exit{Code: 1}, errors.New("no such program"), "start"},
		"usage":             {lifecycle.ByUs, confine.Exit{Code: terminal.Usage}, errors.New("unknown server"), "usage"},
		"the jail":          {lifecycle.ByUs, confine.Exit{Code: 137, Why: "its supervisor has died"}, nil, "jail"},
	} {
		t.Run(name, func(t *testing.T) {
			var is struct{ Error string }
			l := NewLog(func(line []byte) bool { testkit.Must(t, json.Unmarshal(line, &is)); return true })
			l.by = row.by
			l.End(row.exit, row.err)
			testkit.Equal(t, "error", is.Error, row.want)
		})
	}
}
