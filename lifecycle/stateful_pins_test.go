//go:build unix

package lifecycle

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// TestPinsOtherReaders: with enforce, the client gets no list in a message that only it
// takes for the answer.
func TestPinsOtherReaders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ line, want string }{
		"id as text":        {`{"jsonrpc":"2.0","id":"ID","result":` + tools(otherA) + `}`, ""},
		"two results":       {`{"jsonrpc":"2.0","id":ID,"result":` + tools(otherA) + `,"result":` + tools(toolA) + `}`, "-32603"},
		"two ids":           {`{"jsonrpc":"2.0","id":ID,"result":` + tools(otherA) + `,"id":99}`, "-32603"},
		"a request as well": {`{"jsonrpc":"2.0","id":ID,"method":"m","result":` + tools(otherA) + `}`, "-32603"},
		"a batch":           {`[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":ID,"result":` + tools(otherA) + `}]`, "-31007"},
		"twice":             {`{"jsonrpc":"2.0","id":ID,"result":` + tools(toolA) + `}` + "\n" + `{"jsonrpc":"2.0","id":ID,"result":` + tools(otherA) + `}`, `"result"`},
	} {
		p := beginMenu(t, "stateful", pinnedAs(t, toolA), true)
		p.send(listOf("1", "raw "+c.line), legacy("2", "ping", "{}"))
		var lines string
		for !strings.Contains(lines, `"id":2`) {
			lines += p.line()
		}
		lines = strings.Join(strings.SplitAfter(lines, "\n")[:strings.Count(lines, "\n")-1], "")
		if strings.Contains(lines, `"description":"Send`) || !strings.Contains(lines, c.want) || (c.want == "") != (lines == "") {
			t.Errorf("%s: the client got %q", name, lines)
		}
		p.close() // a request that the server has not answered is answered at the end
	}
}

// TestPinsOff: without pins nothing is looked at.
func TestPinsOff(t *testing.T) {
	t.Parallel()
	p := begin(t, &fake{server: "menu"}, nil)
	for _, line := range []string{`{"jsonrpc":"2.0","id":"ID","result":` + tools(otherA) + `}`, `{"jsonrpc":"2.0","id":ID,"result":` + tools(otherA) + `,"result":{}}`} {
		p.send(listOf("1", "raw "+line))
		if got := p.line(); got != strings.ReplaceAll(line, "ID", "1")+"\n" {
			t.Errorf("%q", got)
		}
	}
	p.close()
}

// TestPinsOpenLists: what a client asked and nobody answers does not pile up.
func TestPinsOpenLists(t *testing.T) {
	t.Parallel()
	var o openLists
	for i := range 3*maxOpenLists + 1 {
		f := mcpproxy.Parse([]byte(pageOf(fmt.Sprint(i), "x", "{}")))
		o.note(f, &f.Messages[0])
		if len(o.open) > maxOpenLists {
			t.Fatalf("%d are kept", len(o.open))
		}
	}
	if r := o.take([]byte(fmt.Sprint(3*maxOpenLists)), "tools/list"); r.cursor != "x" {
		t.Errorf("%+v", r)
	}
	if r := o.take([]byte("0"), "tools/list"); r.cursor != unknownCursor {
		t.Errorf("%+v", r)
	}
}
