//go:build seatbelt

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/sandboxlog"
	"github.com/mcp-jail/mcp-jail/policy"
)

// logScript stands for log. It finds the tag in the question, as the real one does, and prints the lines of
// the file beside it. TAG in these is the tag that was asked for.
const logScript = `#!/bin/sh
for last; do :; done
tag=${last##*CONTAINS \"}
tag=${tag%\"}
sed "s/TAG/$tag/" "$0.lines"
`

// TestSeatbeltEvidence: the refusals of the system's log are those of the server's processes. Neither the
// attempts of mcp-jail's own program before the start nor lines of other programs are among them.
func TestSeatbeltEvidence(t *testing.T) {
	jailtest.Needs(t)
	program := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(program, []byte(logScript), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv(sandboxlog.FakeEnv, program)
	if err := confine.CanAskDenials(); err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	s := jailtest.Begin(t, jailtest.Profile(t), attacker.Try("wait"))
	running, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	self := filepath.Base(running)
	var lines strings.Builder
	write := func(at time.Time, process int, message string) {
		fmt.Fprintf(&lines, `{"timestamp":%q,"eventMessage":%q,"processID":%d}`+"\n", at.Format("2006-01-02 15:04:05.000000-0700"), message, process)
	}
	after := time.Now().Add(time.Millisecond)
	refused := func(program, operation, target string) string {
		return fmt.Sprintf("Sandbox: %s(12) deny(1) %s %s\nTAG", program, operation, target)
	}
	write(before, 0, refused(self, "file-read-data", "/own/canary"))
	write(before, 0, refused(self, "signal", ""))
	write(before, 0, refused("sandbox-exec", "file-read-data", "/own/start"))
	write(before, 0, refused("cat", "file-read-data", "/kept/by name"))
	write(after, 0, refused(self, "file-read-data", "/kept/by time"))
	write(after, 0, refused("cat", "network-outbound", "192.0.2.7:443"))
	write(after, 4711, refused("cat", "file-read-data", "/forged/by a program"))
	write(after, 0, "Sandbox: cat(12) deny(1) file-read-data /forged/name\nTAG\nmcpj-00000000")
	write(after, 0, "Sandbox: cat(12) deny(1) file-read-data /forged/TAG")
	write(after, 0, "mcp-jail: Sandbox: cat(12) deny(1) file-read-data /forged/words\nTAG")
	if err := os.WriteFile(program+".lines", []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if denials := s.Denials(); len(denials) != 0 {
		t.Errorf("before the log was asked: %+v", denials)
	}
	s.AskDenials(t.Context(), before)
	var got []string
	for _, d := range s.Denials() {
		got = append(got, fmt.Sprintf("%s %s %s", d.Axis, d.Operation, d.Target))
	}
	slices.Sort(got)
	if want := []string{"fs read /kept/by name", "fs read /kept/by time", "net connect 192.0.2.7:443"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	s.AskDenials(t.Context(), before)
	if i := slices.IndexFunc(s.Denials(), func(d policy.Denial) bool { return d.Count != 1 }); i >= 0 {
		t.Errorf("asked twice: %+v", s.Denials()[i])
	}
	s.Kill()
	s.Finish()
	other := jailtest.Begin(t, jailtest.Profile(t), attacker.Try("wait"))
	if err := os.WriteFile(program+".lines", []byte(strings.ReplaceAll(lines.String(), "TAG", "mcpj-ffffffff")), 0o600); err != nil {
		t.Fatal(err)
	}
	if other.AskDenials(t.Context(), before); len(other.Denials()) != 0 {
		t.Errorf("of another session: %+v", other.Denials())
	}
	other.Kill()
	other.Finish()
}
