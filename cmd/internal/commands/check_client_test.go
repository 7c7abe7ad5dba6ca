package commands

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// TestListTools tests that a server chooses only the name and the description of a tool
// in a report.
func TestListTools(t *testing.T) {
	const answers = `{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"name":"liar"}}}
{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"read","description":"reads","policy":"nothing","where":"mcp-jail.toml:1","warm":3,` +
		`"errors":["e"],"warnings":["w"],"remarks":["r"],"gaps":[{"axis":"fs"}],"hosts":[{"host":"h"}],"secrets":[{}],"Policy":"nothing"}]}}
`
	var r serverReport
	p := checkClient{to: io.Discard, from: bufio.NewReader(strings.NewReader(answers))}
	if err := p.listTools(&r); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(r.Tools)
	if err != nil {
		t.Fatal(err)
	}
	if want := `[{"name":"read","description":"reads"}]`; string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
