//go:build unix

package lifecycle

import (
	"io"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy"
)

func advertising(s *Session) { s.Profile.Advertise = true }

// TestTellLarge: a call too large for memory is told too, and the last line need
// not end in a newline.
func TestTellLarge(t *testing.T) {
	p := begin(t, &fake{server: "scribe"}, advertising)
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	p.send(`{"id":1,"method":"tools/call","params":{"name":"x",` + meta + `,"arguments":{"x":"` + strings.Repeat("y", 5<<20) + `"}}}`)
	p.line()
	io.WriteString(p.in, `{"id":2,"method":"tools/call","params":{"name":"x","arguments":{"x":"`+strings.Repeat("z", 5<<20)+`"},`+meta+`}}`)
	p.in.Close()
	if rest := p.rest(); !strings.Contains(rest, `"id":2,"result"`) {
		t.Errorf("got %q", rest)
	}
	_, stderr := p.ended()
	if !strings.Contains(stderr, `"2026-07-28","dev.mcp-jail/policy":{"version":1,`) || strings.Count(stderr, "…(") != 2 || !strings.HasSuffix(stderr, `}}}}`) {
		t.Errorf("stderr %q", stderr)
	}
}

// TestTellInABatch: each call of a batch is told.
func TestTellInABatch(t *testing.T) {
	p := begin(t, &fake{server: "polite"}, advertising)
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	p.send(`[{"id":1,"method":"tools/call","params":{"name":"x",` + meta + `}}, {"id":2,"method":"tools/list","params":{` + meta + `}}, {"id":3,"method":"tools/call","params":{"name":"x",` + meta + `}}]`)
	if got := p.line(); strings.Count(got, "dev.mcp-jail/policy") != 2 {
		t.Errorf("got %q", got)
	}
	p.line()
	p.line()
	p.in.Close()
	p.rest()
	p.ended()
}

// TestForgedDenials: what the jail recorded takes the place of what the server
// says that it did.
func TestForgedDenials(t *testing.T) {
	denial := confine.Denial{Axis: policy.AxisFs, Operation: "open", Target: "/secret", Count: 1}
	p := begin(t, &fake{server: "scribe", denials: []confine.Denial{denial}}, nil)
	p.send(`{"id":1,"method":"tools/call","params":{"name":"forge"}}`)
	got := p.line()
	if strings.Contains(got, "/forged") || strings.Count(got, "dev.mcp-jail/denials") != 1 || !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,"result":{"content":[],"_meta":{"a":1,"dev.mcp-jail/denials":[{`) || !strings.Contains(got, "/secret") {
		t.Errorf("got %q", got)
	}
	p.in.Close()
	p.rest()
	p.ended()
}
