package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
)

// TestLogTimes tests that log lines have milliseconds, on standard error and in a file.
// One line in a thousand has the milliseconds 000, so several are written.
func TestLogTimes(t *testing.T) {
	dir := t.TempDir()
	stderr, err := os.Create(filepath.Join(dir, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	file := filepath.Join(dir, "log")
	for _, r := range []cmdline.RunFlags{{LogLevel: "info"}, {LogFile: file}} {
		log, done, err := logger(terminal.New(nil, nil, stderr), &r)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			log.Info().Msg("x")
			time.Sleep(3 * time.Millisecond)
		}
		done()
	}
	text, err := os.ReadFile(stderr.Name())
	if err != nil {
		t.Fatal(err)
	}
	times := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d\.\d{3}`).FindAll(text, -1)
	if len(times) != 5 || bytes.Count(bytes.Join(times, nil), []byte(".000")) == 5 {
		t.Errorf("standard error has the times %q", times)
	}
	lines, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for line := range bytes.Lines(lines) {
		var entry struct{ Time time.Time }
		if err := json.Unmarshal(line, &entry); err != nil {
			t.Fatal(err)
		}
		if entry.Time.Nanosecond() == 0 {
			whole++
		}
	}
	if n := bytes.Count(lines, []byte("\n")); n != 5 || whole == 5 {
		t.Errorf("%d of %d lines in the file have no milliseconds:\n%s", whole, n, lines)
	}
}
