package house_test

import (
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// searchingCalls are what compares a text with secrets in a time that depends on the text.
var searchingCalls = map[string][]string{
	module + "policy/leak": {"New", "Secret"},
	module + "diagnostics": {"NewRedactor", "Redactor"},
}

// searches are the files that do so, each with the reason why the writer of the text holds the
// secrets. A writer without them would learn them from the time.
var searches = map[string]string{
	"lifecycle/internal/session/leaks.go": "leak.Sought: the environment of the process",

	"confine/egress/intercept/leak.go":     "leak.Sought of the jail's profile, by SetLeaks",
	"confine/egress/tlsworker/message.go":  "hands on the same",
	"confine/egress/leak.go":               "hands on the same",
	"lifecycle/internal/session/server.go": "the environment of the process",
	"lifecycle/internal/session/pins.go":   "the redactor of session/server.go or stateless/run.go",
	"lifecycle/internal/stateless/run.go":  "the environment of the processes that list tools",
	"cmd/internal/session/about.go":        "no text of a server: the command line of the user",
	"packages/install/fetch_npm.go":        "npm's credentials, of npm's own output; none of that of scripts",
	"packages/install/fetch_python.go":     "pip's and uv's credentials, of their own output; none of that of scripts",
}

// TestSearches tests that no other file looks for secrets. A leak.Mask may be anywhere: its time
// depends on no secret.
func TestSearches(t *testing.T) {
	left := maps.Clone(searches)
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		name = filepath.ToSlash(name)
		if found := usesOf(t, name, nil, searchingCalls); found != nil {
			if searches[name] == "" {
				t.Errorf("%s looks for secrets, and is not on the list of files whose texts come from who holds them: %s", name, found)
			}
			delete(left, name)
		}
		return nil
	})
	if err != nil || len(left) > 0 {
		t.Errorf("%v; these do not look for secrets: %q", err, slices.Sorted(maps.Keys(left)))
	}
}
