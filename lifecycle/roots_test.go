//go:build unix

package lifecycle

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/stateless"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestRootsOfTools: each worker is shown the roots that its tool may read.
func TestRootsOfTools(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{session.RootsOff, session.RootsNarrow, session.RootsAdvertise} {
		t.Run(mode, func(t *testing.T) {
			p := beginStateless(t, sessiontest.NewShop(), func(_ *session.Session, o *stateless.Options) {
				resolve := o.Tool
				o.Tool = func(name string) (stateless.Tool, error) {
					tool, err := resolve(name)
					tool.Profile.Roots = mode
					path := map[string]string{"ask": "/work/a", "echo": "/work/b"}[name]
					tool.Profile.Entries = []policy.Entry{{Path: path, Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule, Named: path}}
					return tool, err
				}
			})
			p.Greet() // without the capability roots
			p.Send(sessiontest.CallOf("1", "ask", `{"method":"roots/list"}`))
			want := `/work/a`
			if mode != session.RootsAdvertise {
				p.Send(sessiontest.ReplyTo(p.Told("roots/list"), `{"roots":[{"uri":"file:///work"}]}`))
			}
			if mode == session.RootsOff {
				want = `file:///work\"}`
			}
			l := p.Answer("1").Line
			sessiontest.Has(t, l, want)
			if strings.Contains(l, "/work/b") || mode != session.RootsOff && strings.Contains(l, `file:///work\"`) {
				t.Errorf("it saw %q", l)
			}
			p.Nothing()
		})
	}
}
