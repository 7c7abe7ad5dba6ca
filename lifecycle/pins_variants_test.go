//go:build unix

package lifecycle

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/packages/pin"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestPinsVariants: another client may be told other tools, and not other definitions. Pins
// that another session made meanwhile count.
func TestPinsVariants(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind string) {
		const capabilities = `{"roots":{}}`
		name := pin.Name(nil, []byte(capabilities))
		for list, want := range map[string]string{
			toolA:                "nothing", // is pinned already
			toolA + "," + toolB:  `Be kind. a"A" b"B"`,
			otherA + "," + toolB: "nothing",
		} {
			pins := pinnedAs(t, toolA)
			p := openMenu(t, kind, pins, true)
			p.send(greetMenu("0", "Be kind.", capabilities), initialized)
			p.answer("0")
			p.send(listOf("1", tools(list)))
			if refused := strings.Contains(p.answer("1").line, "-31007"); refused != strings.Contains(list, otherA) {
				t.Errorf("%s is refused: %v", list, refused)
			}
			p.end()
			if got := pins.tools(name); got != want {
				t.Errorf("%s: %s is pinned, want %s", list, got, want)
			}
		}
		pins := pinnedAs(t, otherA)
		pins.start = pinnedAs(t, toolA).pins
		p := beginMenu(t, kind, pins, true)
		p.send(listOf("1", tools(otherA)))
		has(t, p.answer("1").line, `"result"`)
		p.end()
	})
}

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
	page := []byte(tools(strings.Join(list, ",")))
	pins := pinnedAs(b, strings.Join(list, ","))
	s := Session{Profile: &policy.Profile{}, Pins: pins}
	check := &toolCheck{client: &client{config: s}, pins: pins, lists: map[string]*pagedList{}, servers: map[string]pin.Server{}}
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		if d := check.list(listRequest{method: "tools/list"}, page); d != nil || len(check.told) > 0 {
			b.Fatal(d)
		}
	}
}
