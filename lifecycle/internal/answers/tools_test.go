package answers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

func page(next string, names ...string) []byte {
	return fmt.Appendf(nil, `{"tools":[{"name":"%s"}],"nextCursor":"%s"}`, strings.Join(names, `"},{"name":"`), next)
}

// TestPages: a list is whole after its last page, if its first was seen.
func TestPages(t *testing.T) {
	t.Parallel()
	var tools Tools
	for i, c := range testkit.Table[struct {
		next  string
		first bool
		want  []string
	}](t, "tools.txt") {
		next, all := tools.AddPage(page(c.next, fmt.Sprint("t", i)), c.first)
		if next != c.next || !slices.Equal(all, c.want) {
			t.Errorf("page %d: next %q, all %q", i, next, all)
		}
	}
	if !tools.Has("t0") || tools.Has("t9") {
		t.Error("it does not know the tools of a part of a list, or knows others")
	}
}

// TestManyTools: the tools that are remembered are bounded, and so are their names.
func TestManyTools(t *testing.T) {
	t.Parallel()
	var tools Tools
	for n := range 3 {
		names := make([]string, maxTools/2)
		for i := range names {
			names[i] = fmt.Sprint(n, " ", i)
		}
		tools.AddPage(page("", names...), true)
	}
	if len(tools.known) != maxTools || !tools.Has("0 1") || tools.Has("2 1") {
		t.Errorf("%d tools", len(tools.known))
	}
	tools = Tools{}
	long := strings.Repeat("x", mcpproxy.MaxTool)
	if tools.AddPage(page("", long, long+"x"), true); !tools.Has(long) || tools.Has(long+"x") {
		t.Errorf("%d tools with long names, want the shorter of two", len(tools.known))
	}
}
