package lifecycle_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcp-jail/mcp-jail/diagnostics/diagnostest"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestReplacedFile: the first answer after a file was replaced, for which a rule of its own gives rights, says so, and
// the record too. A file of a folder that has the same rights is the new one in the jail as well.
func TestReplacedFile(t *testing.T) {
	t.Parallel()
	var ino atomic.Uint64
	ino.Store(1)
	p := begin(t, &sessiontest.Fake{Server: "scribe"}, func(s *session.Session) {
		file := func(path string, rights policy.Rights) policy.Entry {
			return policy.Entry{Path: path, Kind: policy.KindFile, Rights: rights, Origin: policy.OriginRule, ID: policy.FileID{Ino: 1}}
		}
		s.Profile.Entries = []policy.Entry{
			{Path: "/all", Kind: policy.KindDir, Rights: policy.Read | policy.Write, Origin: policy.OriginRule}, file("/all/same", policy.Read),
			file("/data/open.json", policy.Read|policy.Update), file("/data/other.json", policy.Read), file("/data/unseen", policy.Read), {Path: "/data/hidden", Kind: policy.KindFile, Origin: policy.OriginRule},
		}
		diagnostest.Of(&s.Known).Exists = func(string) bool { return true }
		diagnostest.Of(&s.Known).Identity = func(path string) (policy.FileID, bool) {
			switch path {
			case "/data/unseen":
				return policy.FileID{}, false
			case "/data/other.json":
				return policy.FileID{Ino: max(1, ino.Load()-1)}, true
			}
			return policy.FileID{Ino: ino.Load()}, true
		}
	})
	p.Greet()
	for n, want := range []string{"", "open.json", "other.json", ""} { // which are replaced before the second and the third call
		ino.Store(uint64(min(n+1, 3)))
		p.Send(sessiontest.CallOf("2", "echo", "{}"))
		got := p.Line()
		const words = "was replaced after this server started"
		if strings.Count(got, words) != min(1, len(want)) || !strings.Contains(got, want) {
			t.Errorf("call %d: %s", n, got)
		}
	}
	p.Close()
	var recorded []string
	for _, d := range p.Record.Diagnoses {
		if d.Answered && strings.Contains(d.Cause, "was replaced") && d.Explain == "replaced" {
			recorded = append(recorded, d.Cause)
		}
	}
	if len(recorded) != 2 {
		t.Errorf("recorded: %q", recorded)
	}
}
