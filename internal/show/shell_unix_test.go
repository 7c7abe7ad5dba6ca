//go:build unix

package show_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestWord: a real shell reads each word that is proposed as the text that was meant.
func TestWord(t *testing.T) {
	words := []string{"/a/b", "a b", "", "$(id)", "x'y", "a~b", "~/x", "~", "/a/[b]", `a\b`, `\'`, "!!", "=ls", "%self", "A=b", "{a,b}", "*", "#", "a\tb", "é", "--", "-n"}
	var line []string
	var typed []string
	for _, w := range append(slices.Clone(words), "a\rb", "a\nb", "a\u200bb", "\x1b[2J", "\u202e", "[mcp-jail] x") {
		word, ok := show.Word(w)
		if ok != (show.Line(w) == w) {
			t.Errorf("%q: %v", w, ok)
		}
		if ok {
			line, typed = append(line, word), append(typed, w)
		}
	}
	for _, shell := range []string{"sh", "bash"} {
		out, err := exec.Command(shell, "-c", `printf '%s\0' `+strings.Join(line, " ")).Output()
		if err != nil {
			t.Fatalf("%s: %v", shell, err)
		}
		if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); !slices.Equal(got, typed) {
			t.Errorf("%s read %q, want %q", shell, got, typed)
		}
	}
}

// TestInDir: a real shell goes to the directory that is meant, and runs the line there.
func TestInDir(t *testing.T) {
	base := t.TempDir()
	for _, name := range []string{"plain", "a b", "x'y", `a\b`, "$(id)", "-n"} {
		dir := filepath.Join(base, name)
		testkit.Must(t, os.Mkdir(dir, 0o700))
		for _, shell := range []string{"sh", "bash"} {
			cmd := exec.Command(shell, "-c", show.InDir(dir, show.Typed("touch", shell+" it's")))
			cmd.Dir = base
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s in %q: %v: %s", shell, name, err, out)
			}
			if _, err := os.Stat(filepath.Join(dir, shell+" it's")); err != nil {
				t.Errorf("%s in %q: %v", shell, name, err)
			}
		}
	}
	if got := show.InDir("/a\x1bb", "x"); strings.Contains(got, "sh -c") || strings.Contains(got, "\x1b") {
		t.Errorf("%q", got)
	}
}
