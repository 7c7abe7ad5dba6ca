package journal

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestDiff(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"a\n", "a\n", ""},
		{"", "a\n", "--- f\n+++ f\n@@ -0,0 +1,1 @@\n+a\n"},
		{"a\n", "", "--- f\n+++ f\n@@ -1,1 +0,0 @@\n-a\n"},
		{"a\nb\nc\n", "a\nx\nc\n", "--- f\n+++ f\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"},
		{"a", "a\n", "--- f\n+++ f\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"a\x00", "b", "--- f\n+++ f\n(2 and 1 bytes that are no text)\n"},
	} {
		if got := Diff("f", []byte(c.before), []byte(c.after)); got != c.want {
			t.Errorf("%q to %q: %q, want %q", c.before, c.after, got, c.want)
		}
	}
}

// TestDiffApplies has patch(1) apply the differences of random texts.
func TestDiffApplies(t *testing.T) {
	patch, err := exec.LookPath("patch")
	if err != nil {
		t.Skip("there is no patch(1)")
	}
	random := rand.New(rand.NewPCG(1, 1))
	text := func(n int) string {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "line %d\n", random.IntN(6))
		}
		return b.String()
	}
	for range 50 {
		before, after := text(random.IntN(60)), text(random.IntN(60))
		file := filepath.Join(t.TempDir(), "f")
		testkit.Must(t, os.WriteFile(file, []byte(before), 0o600))
		cmd := exec.Command(patch, "-s", file)
		cmd.Stdin = strings.NewReader(Diff("f", []byte(before), []byte(after)))
		out, err := cmd.CombinedOutput()
		got, _ := os.ReadFile(file)
		if err != nil || string(got) != after {
			t.Fatalf("%v %s: %q, want %q", err, out, got, after)
		}
	}
}

// TestDiffQuotes: no name looks like lines of a difference.
func TestDiffQuotes(t *testing.T) {
	got := Diff("/a\n+++ /etc/passwd\n@@ -1 +1 @@\n-x", []byte("a\n"), []byte("b\n"))
	if n := strings.Count(got, "\n"); n != 5 || !strings.HasPrefix(got, `--- "/a\n+++ `) {
		t.Errorf("%d lines: %s", n, got)
	}
}
