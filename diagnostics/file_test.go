package diagnostics

import (
	"strings"
	"testing"
)

// TestFile tests that every form of a diagnosis names the file into which lines belong, and what makes
// a project's file count again.
func TestFile(t *testing.T) {
	for file, want := range map[string]string{
		"":                        " to the configuration:",
		"/home/u/config.toml":     " to /home/u/config.toml:",
		"/p q/.mcp-jail.toml":     " to /p q/.mcp-jail.toml (then: mcp-jail trust '/p q/.mcp-jail.toml'):",
		"/p\u202e/.mcp-jail.toml": ":",
	} {
		d := Diagnosis{Attribution: Certain, Cause: "c", Grant: []string{"x = 1"}, File: file}
		for name, text := range map[string]string{"Text": d.Text(), "ResultBlock": string(d.ResultBlock())} {
			if !strings.Contains(strings.ReplaceAll(text, `\n`, "\n"), want) || strings.Contains(text, "\u202e") {
				t.Errorf("%s: %s: no %q in %s", file, name, want, text)
			}
		}
		if frame := string(d.ErrorFrame([]byte("1"))); strings.Contains(frame, `"file":`) != (file != "") || strings.Contains(frame, "\u202e") {
			t.Errorf("%s: %s", file, frame)
		}
	}
}
