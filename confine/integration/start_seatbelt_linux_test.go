//go:build seatbelt

package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestServerCannotChangeItsSupervisor: a name for mcp-jail's program may be a link to where the
// server writes. The policy is asked about the file.
func TestServerCannotChangeItsSupervisor(t *testing.T) {
	jailtest.Needs(t)
	dir := t.TempDir()
	granted, other := filepath.Join(dir, "granted"), filepath.Join(dir, "other")
	for _, d := range []string{granted, other} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(jailtest.Binary, filepath.Join(granted, "mcp-jail")); err != nil {
		t.Fatal(err)
	}
	start := func(target string) error {
		t.Helper()
		link := filepath.Join(other, filepath.Base(filepath.Dir(target)))
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		p := jailtest.Profile(t, jailtest.Grant{Path: granted, Rights: policy.Read | policy.Write})
		process, err := confine.Launcher{SupervisorPath: link}.Start(t.Context(), p, jail.Stdio{})
		if err == nil {
			process.Kill()
			<-process.Done()
		}
		return err
	}
	if err := start(filepath.Join(granted, "mcp-jail")); err == nil || !strings.Contains(err.Error(), "lets the server change mcp-jail's own program") {
		t.Errorf("got %v", err)
	}
	if err := start(jailtest.Binary); err != nil {
		t.Errorf("the control: %v", err)
	}
}
