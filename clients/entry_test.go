package clients

import (
	"encoding/json"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestEntryReasons tests which entries are left, and why.
func TestEntryReasons(t *testing.T) {
	for _, c := range []struct {
		client, value string
		want          Reason
	}{
		{"cursor", `{"command":"x"}`, ""},
		{"cursor", `{"command":"x","args":[]}`, ""},
		{"cursor", `{"command":"x","url":"https://h"}`, ""},
		{"cursor", `{"command":"x","type":"stdio"}`, ""},
		{"cursor", `{"command":"x","type":"http"}`, ""},
		{"cursor", `{"url":"https://h"}`, Remote},
		{"cursor", `{"type":"sse"}`, Remote},
		{"cursor", `{"type":"stdio"}`, NoCommand},
		{"cursor", `{}`, NoCommand},
		{"cursor", `{"command":null}`, NoCommand},
		{"cursor", `null`, NoCommand},
		{"cursor", `{"command":""}`, Malformed},
		{"cursor", `{"command":["x"]}`, Malformed},
		{"cursor", `{"command":"x","args":"y"}`, Malformed},
		{"cursor", `{"command":"x","args":null}`, Malformed},
		{"cursor", `{"command":"x","disabled":true}`, ""}, // no key of Cursor's
		{"kiro", `{"command":"x","disabled":true}`, Disabled},
		{"kiro", `{"command":"x","disabled":"true"}`, ""},
		{"kiro", `{"command":"mcp-jail","args":["run","--","x"],"disabled":true}`, Jailed},
		{"codex", `{"command":"x","enabled":false}`, Disabled},
		{"codex", `{"command":"x","enabled":true,"environment_id":"local"}`, ""},
		{"codex", `{"command":"x","environment_id":"box"}`, Elsewhere},
		{"vscode", `{"command":"x","sandboxEnabled":true}`, Sandboxed},
		{"jp", `{"command":"x","checksum":{"value":"0"}}`, Checked},
		{"opencode", `{"type":"local","command":["x"]}`, ""},
		{"opencode", `{"type":"local","command":[]}`, Malformed},
		{"opencode", `{"type":"local","command":"x"}`, Malformed},
		{"kilo", `{"command":"x","args":["y"]}`, ""},
		{"cline", `{"transport":{"command":"x"}}`, ""},
		{"cline", `{"transport":{"type":"sse","url":"https://h"}}`, Remote},
		{"cline", `{"transport":7,"command":"x"}`, ""},
		{"cline", `{"transport":{"command":"x"},"command":"y"}`, Ambiguous},
		{"vscode", `{"config":{"command":"x"},"command":"y"}`, ""},
		{"vscode", `{"config":{"command":"x"},"command":"mcp-jail","args":["run","--name","s","--","y"]}`, ""},
		{"vscode", `{"config":{"command":"mcp-jail","args":["run","--name","s","--","y"]},"command":"x"}`, Jailed},
		{"vscode", `{"config":{},"command":"y"}`, NoCommand},
		{"vscode", `{"config":null,"command":"y"}`, ""},
		{"zed", `{"command":{"path":"x"}}`, ""},
		{"amazon-q", `{"command":"$X/y"}`, Replaced},
		{"amazon-q", `{"command":"~/y","args":["$X"]}`, ""},
		{"gemini", `{"command":"$X/y"}`, ""},
		{"goose", `{"type":"builtin"}`, NoCommand},
		{"goose", `{"type":"inline_python","code":"x"}`, Beside},
		{"goose", `{"type":"inline_python","code":"x","enabled":false}`, NoCommand},
		{"claude-code", `{"type":"http","url":"https://h"}`, Remote},
		{"claude-code", `{"type":"http","url":"https://h","headersHelper":"x"}`, Beside},
		{"claude-code", `{"type":"ws","url":"https://h","headersHelper":"x","command":"y"}`, Beside},
		{"claude-code", `{"headersHelper":"x","command":"mcp-jail","args":["run","--name","s","--","y"]}`, Beside},
		{"claude-code", `{"type":"http","url":"https://h","command":"y"}`, Ambiguous},
		{"vscode", `{"type":"sse","command":"y"}`, Ambiguous},
		{"vscode", `{"config":{"type":"sse","command":"y"}}`, Ambiguous},
		{"opencode", `{"type":"remote","command":["y"]}`, Ambiguous},
	} {
		client, err := ByName(c.client)
		testkit.Must(t, err)
		var value any
		testkit.Must(t, json.Unmarshal([]byte(c.value), &value))
		e := client.Entry(Item{Path: []string{"x"}, Value: value})
		if e.Left != c.want {
			t.Errorf("%s: %s: %q %q, want %q", c.client, c.value, e.Left, e.Detail, c.want)
		}
	}
}
