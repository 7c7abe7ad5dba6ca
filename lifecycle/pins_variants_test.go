//go:build unix

package lifecycle

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/packages/toolpin"
)

// TestPinsVariants: another client may be told other tools, and not other definitions. Pins
// that another session made meanwhile count.
func TestPinsVariants(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind string) {
		const capabilities = `{"roots":{}}`
		name := toolpin.Name(nil, []byte(capabilities))
		for list, want := range map[string]string{
			sessiontest.ToolA: "nothing", // is pinned already
			sessiontest.ToolA + "," + sessiontest.ToolB:  `Be kind. a"A" b"B"`,
			sessiontest.OtherA + "," + sessiontest.ToolB: "nothing",
		} {
			pins := sessiontest.PinnedAs(t, sessiontest.ToolA)
			p := openMenu(t, kind, pins, true)
			p.Send(sessiontest.GreetMenu("0", "Be kind.", capabilities), sessiontest.Initialized)
			p.Answer("0")
			p.Send(sessiontest.ListOf("1", sessiontest.Tools(list)))
			if refused := strings.Contains(p.Answer("1").Line, "-31007"); refused != strings.Contains(list, sessiontest.OtherA) {
				t.Errorf("%s is refused: %v", list, refused)
			}
			p.End()
			if got := pins.Tools(name); got != want {
				t.Errorf("%s: %s is pinned, want %s", list, got, want)
			}
		}
		pins := sessiontest.PinnedAs(t, sessiontest.OtherA)
		pins.Start = sessiontest.PinnedAs(t, sessiontest.ToolA).Pins
		p := beginMenu(t, kind, pins, true)
		sessiontest.Has(t, p.Ask(sessiontest.ListOf("1", sessiontest.Tools(sessiontest.OtherA))).Line, `"result"`)
		p.End()
	})
}
