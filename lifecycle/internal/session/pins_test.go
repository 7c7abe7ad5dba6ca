package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/packages/toolpin"
	"github.com/mcp-jail/mcp-jail/policy"
)

// BenchmarkPinsList compares a list of 100 tools with 12 fields each.
func BenchmarkPinsList(b *testing.B) {
	var list []string
	for i := range 100 {
		var fields strings.Builder
		for f := range 12 {
			fmt.Fprintf(&fields, `"field_%d":{"type":"string","description":"The field with the number %d, which says \"what\" is done."},`, f, f)
		}
		list = append(list, fmt.Sprintf(`{"name":"tool_%d","description":%q,"inputSchema":{"type":"object","properties":{%s"cursor":{}}}}`, i, strings.Repeat("It does something. ", 20), fields.String()))
	}
	page := []byte(`{"tools":[` + strings.Join(list, ",") + `]}`)
	pinned, err := toolpin.New(toolpin.NewServer("menu", "1", "Be kind."), page)
	if err != nil {
		b.Fatal(err)
	}
	pins := onePin{pinned}
	s := Session{Profile: &policy.Profile{}, Pins: pins}
	check := &ToolCheck{client: &Client{Config: s}, pins: pins, lists: map[string]*pagedList{}, servers: map[string]toolpin.Server{}}
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		if d := check.List(ListRequest{Method: "tools/list"}, page); d != nil || len(check.told) > 0 {
			b.Fatal(d)
		}
	}
}

// onePin is a pin that does not change.
type onePin struct{ pin *toolpin.Pin }

func (onePin) Name([]byte) string { return "default" }

func (p onePin) Pinned(bool) (map[string]*toolpin.Pin, error) {
	return map[string]*toolpin.Pin{"default": p.pin}, nil
}

func (onePin) Add(string, *toolpin.Pin) error { return nil }

func (onePin) Propose(string, *toolpin.Pin) error { return nil }

func (onePin) Accept() string { return "" }
