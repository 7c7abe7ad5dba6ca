//go:build linux

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestDocumentedSecret tests the example of docs/getting-started.md: the server reads with a
// token that it never has, and cannot write.
func TestDocumentedSecret(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	_, rest, _ := strings.Cut(testkit.ReadFile(t, filepath.Join("..", "..", "docs", "getting-started.md")), "<!-- hosts -->\n```toml\n")
	config, _, ok := strings.Cut(rest, "```\n")
	for old, now := range map[string]string{`"npx"`: `"node"`, `"-y", "` + github + `"`: `"` + server(github) + `"`} {
		ok = ok && strings.Contains(config, old)
		config = strings.Replace(config, old, now, 1)
	}
	if !ok {
		t.Fatal("the page has no such example")
	}
	w := newWorld(t)
	token := newToken()
	net := newInternet(t, w, token)
	w.env = append(w.env, githubToken+"="+token)
	if got := w.attempt(t, "github", config, func(t *testing.T, _ *world, s *clientSession) toolResult {
		if got := commits(s); got.IsError || !strings.Contains(got.texts(), "a commit") {
			t.Errorf("reading: %s\n%s", got.raw, s.stderr.String())
		}
		if got := s.tool("create_issue", map[string]any{"owner": "a", "repo": "b", "title": "x"}); !got.IsError {
			t.Errorf("writing: %s", got.raw)
		}
		return toolResult{}
	}); got.IsError {
		t.Errorf("the server did not start: %s", got.raw)
	}
	if told := net.requests(t); told != "GET /repos/a/b/commits Bearer "+token+"\n" {
		t.Errorf("the host was told %q", told)
	}
}
