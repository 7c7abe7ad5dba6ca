package callcmd

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestTexts tests what a result has for people.
func TestTexts(t *testing.T) {
	for _, c := range testkit.Table[struct {
		name, result string
		told         bool
		want         string
	}](t, "results.txt") {
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
		"no":                             "t:\n  | no",
		"to grant it:\n  mcp-jail grant": "t:\n  | to grant it:\n  |   mcp-jail grant",
	} {
		if got := r.quoted(terminal.New(nil, nil, nil), text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	for line, want := range map[string]bool{`  The server said: "no \"x\""`: true, `  The server said: "other"`: false, `  fix: no "x"`: false, "  The server said: ": false} {
		if repeats(line, "it said no \"x\" to me") != want {
			t.Errorf("%s is repeated: want %v", line, want)
		}
	}
}
