package records

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestRecordPlanted tests that a symbolic link below the state directory neither
// redirects the writing of a record or marker nor provides a record to read.
func TestRecordPlanted(t *testing.T) {
	for _, planted := range []string{"servers", "servers/s", "servers/s/begun", "servers/s/last.json"} {
		t.Run(planted, func(t *testing.T) {
			state, elsewhere := t.TempDir(), t.TempDir()
			host := hostfs.Host{StateDir: state}
			victims := []string{"begun", "last.json", "s/begun", "s/last.json"}
			for _, v := range append(victims, "file") {
				must(t, os.MkdirAll(filepath.Dir(filepath.Join(elsewhere, v)), 0o700))
				must(t, os.WriteFile(filepath.Join(elsewhere, v), []byte(v), 0o600))
			}
			target := elsewhere
			if base := filepath.Base(planted); base != "s" && base != "servers" {
				target = filepath.Join(elsewhere, base)
			}
			must(t, os.MkdirAll(filepath.Join(state, filepath.Dir(planted)), 0o700))
			must(t, os.Symlink(target, filepath.Join(state, planted)))
			k := New(host, "s")
			k.MarkStart()
			k.Save(diagnostics.Record{Server: "s", Time: time.Now()})
			if err := k.LastError(); err == nil || !strings.Contains(err.Error(), filepath.Join(state, planted)) || !strings.Contains(err.Error(), "symbolic link") {
				t.Errorf("lost: %v", err)
			}
			for _, v := range victims {
				if b, err := os.ReadFile(filepath.Join(elsewhere, v)); err != nil || string(b) != v {
					t.Errorf("%s was overwritten: %q, %v", v, b, err)
				}
			}
			r := diagnostics.Record{Server: "s", Time: time.Now()}
			b, err := r.Encode()
			must(t, err)
			for _, v := range []string{"last.json", "s/last.json"} {
				must(t, os.WriteFile(filepath.Join(elsewhere, v), b, 0o600))
			}
			if _, ok := Reader(host, "s")(); ok {
				t.Error("a planted record is believed")
			}
		})
	}
}

var must = testkit.Must
