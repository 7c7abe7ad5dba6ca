//go:build unix

package lifecycle

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestRootsOfTools: each worker is shown the roots that its tool may read.
func TestRootsOfTools(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{rootsOff, rootsNarrow, rootsAdvertise} {
		t.Run(mode, func(t *testing.T) {
			p := beginStateless(t, newShop(), func(_ *Session, o *Stateless) {
				resolve := o.Tool
				o.Tool = func(name string) (Tool, error) {
					tool, err := resolve(name)
					tool.Profile.Roots = mode
					path := map[string]string{"ask": "/work/a", "echo": "/work/b"}[name]
					tool.Profile.Entries = []policy.Entry{{Path: path, Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule, Named: path}}
					return tool, err
				}
			})
			p.greet() // without the capability roots
			p.send(callOf("1", "ask", `{"method":"roots/list"}`))
			want := `/work/a`
			if mode != rootsAdvertise {
				p.send(replyTo(p.told("roots/list"), `{"roots":[{"uri":"file:///work"}]}`))
			}
			if mode == rootsOff {
				want = `file:///work\"}`
			}
			l := p.answer("1").line
			has(t, l, want)
			if strings.Contains(l, "/work/b") || mode != rootsOff && strings.Contains(l, `file:///work\"`) {
				t.Errorf("it saw %q", l)
			}
			p.nothing()
		})
	}
}
