package house_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

const architecture = "docs/architecture.md"

var directModule = regexp.MustCompile(`(?m)^\t(\S+) v\S+$`) // an indirect one has a comment

// TestDependencies tests that docs/architecture.md says what each module of go.mod is for.
func TestDependencies(t *testing.T) {
	_, table, _ := strings.Cut(testkit.ReadFile(t, architecture), "\n## Dependencies\n")
	modules := directModule.FindAllStringSubmatch(testkit.ReadFile(t, "go.mod"), -1)
	if len(modules) < 10 {
		t.Fatalf("%d modules", len(modules))
	}
	for _, m := range modules {
		name := regexp.MustCompile(`/v\d+$`).ReplaceAllString(m[1], "")
		name = strings.TrimPrefix(strings.TrimPrefix(name, "github.com/"), "golang.org/")
		if !strings.Contains(table, name) {
			t.Errorf("%s does not say what %s is for", architecture, m[1])
		}
	}
}
