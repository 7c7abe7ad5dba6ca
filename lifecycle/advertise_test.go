//go:build unix

package lifecycle

import (
	"io"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

func advertising(s *session.Session) { s.Profile.Roots = session.RootsAdvertise }

// TestAdvertiseLarge: the policy is added to a call that is too large for memory. The last
// line need not end in a newline.
func TestAdvertiseLarge(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "scribe"}, func(s *session.Session) {
		advertising(s)
		session.TimesOf(s).Term = testkit.Patience // a busy machine is no finding
	})
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	p.Send(`{"id":1,"method":"tools/call","params":{"name":"x",` + meta + `,"arguments":{"x":"` + strings.Repeat("y", 5<<20) + `"}}}`)
	p.Line()
	io.WriteString(p.In, `{"id":2,"method":"tools/call","params":{"name":"x","arguments":{"x":"`+strings.Repeat("z", 5<<20)+`"},`+meta+`}}`)
	p.In.Close()
	if rest := p.Rest(); !strings.Contains(rest, `"id":2,"result"`) {
		t.Errorf("got %q", rest)
	}
	_, stderr := p.Ended()
	if !strings.Contains(stderr, `"2026-07-28","dev.mcp-jail/policy":{"version":1,`) || strings.Count(stderr, "…(") != 2 || !strings.HasSuffix(stderr, `}}}}`) {
		t.Errorf("stderr %q", stderr)
	}
}

// TestAdvertiseInBatch: the policy is added to each call of a batch.
func TestAdvertiseInBatch(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "polite"}, advertising)
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	p.Send(`[{"id":1,"method":"tools/call","params":{"name":"x",` + meta + `}}, {"id":2,"method":"tools/list","params":{` + meta + `}}, {"id":3,"method":"tools/call","params":{"name":"x",` + meta + `}}]`)
	if got := p.Line(); strings.Count(got, "dev.mcp-jail/policy") != 2 {
		t.Errorf("got %q", got)
	}
	p.Line()
	p.Line()
	p.Close()
}
