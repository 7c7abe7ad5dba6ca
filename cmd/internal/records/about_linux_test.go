package records

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestAbout tests that the About is written as soon as the client is known, that a session
// without a client keeps the client of the session before, and that nothing is written if nothing
// has changed.
func TestAbout(t *testing.T) {
	host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "mcp-jail")}
	session := func(version string) *Recorder {
		k := New(host, "s")
		k.About = func() About {
			return About{Command: []string{"npx", "-y", "p"}, Package: &Package{"npm", "p@latest", "p", version}}
		}
		k.MarkStart()
		return k
	}
	want := About{Command: []string{"npx", "-y", "p"}, Package: &Package{"npm", "p@latest", "p", "1.0"}, Client: Client{"code", "2.1"}}
	session("1.0").ClientNamed("code", "2.1")
	if got := ReadAbout(host, "s"); !reflect.DeepEqual(got, want) {
		t.Errorf("after the handshake: %+v", got)
	}
	file := filepath.Join(Path(host, "s"), aboutFile)
	before, err := os.Stat(file)
	must(t, err)
	session("1.0").Save(diagnostics.Record{Server: "s", Time: time.Now()})
	if after, err := os.Stat(file); err != nil || !os.SameFile(before, after) {
		t.Errorf("the same is written again: %v", err)
	}
	session("1.1").Save(diagnostics.Record{Server: "s", Time: time.Now()})
	want.Package.Version = "1.1"
	if got := ReadAbout(host, "s"); !reflect.DeepEqual(got, want) {
		t.Errorf("after a session of no client: %+v", got)
	}
	session("1.1").ClientNamed(strings.Repeat("x", 9999), "1")
	if got := ReadAbout(host, "s").Client; len(got.Name) != maxClientText {
		t.Errorf("a name of %d bytes", len(got.Name))
	}
	must(t, os.WriteFile(file, []byte(`{"command": 7`), 0o600))
	if got := ReadAbout(host, "s"); !reflect.DeepEqual(got, About{}) {
		t.Errorf("of a broken file: %+v", got)
	}
}
