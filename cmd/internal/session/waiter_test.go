package session

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestReports: a log gets a line at the first tick and at each fifth after it, with what is known.
func TestReports(t *testing.T) {
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	testkit.Must(t, err)
	defer log.Close()
	w := waiter{console: terminal.New(nil, nil, log), name: "files", begin: time.Now()}
	for _, m := range []Message{{}, {Step: "fetching", Files: 1, Bytes: 7_000}, {Step: "fetching", Files: 12, Bytes: 2_340_000}, {Step: "scripts", Files: 12, Bytes: 2_340_000}, {Step: "sealing", Files: 12, Bytes: 2_340_000}, {Step: "waiting"}} {
		w.last = m
		for range sayEvery {
			w.report()
		}
	}
	if got, want := ReadyText("files", Message{Ready: "files 1.0.0", Packages: 3, Bytes: 2_340_000}), "files is ready: version 1.0.0, 2.3 MB. It now starts without a network."; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	got, err := os.ReadFile(log.Name())
	testkit.Must(t, err)
	after := regexp.MustCompile(`\b[0-9]+ s\b`)
	want := `mcp-jail: downloading files: 0 s
mcp-jail: downloading files: 7 kB, 0 s
mcp-jail: downloading files: 2.3 MB, 0 s
mcp-jail: compiling files: 0 s (this can take several minutes)
mcp-jail: checking files: 0 s
mcp-jail: waiting for another download of files: 0 s
`
	if after.ReplaceAllString(string(got), "0 s") != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
