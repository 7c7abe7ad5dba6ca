package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestLogTimes tests that the lines of the log have milliseconds. One line in a thousand has the
// milliseconds 000, so several are written.
func TestLogTimes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	log, done, err := logger(file)
	testkit.Must(t, err)
	for range 5 {
		log.Info().Msg("x")
		time.Sleep(3 * time.Millisecond)
	}
	done()
	lines, err := os.ReadFile(file)
	testkit.Must(t, err)
	whole := 0
	for line := range bytes.Lines(lines) {
		var entry struct{ Time time.Time }
		testkit.Must(t, json.Unmarshal(line, &entry))
		if entry.Time.Nanosecond() == 0 {
			whole++
		}
	}
	if n := bytes.Count(lines, []byte("\n")); n != 5 || whole == 5 {
		t.Errorf("%d of %d lines have no milliseconds:\n%s", whole, n, lines)
	}
}
