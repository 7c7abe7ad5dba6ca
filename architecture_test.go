package house_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

var (
	directModule = regexp.MustCompile(`(?m)^\t(\S+) v\S+$`) // an indirect one has a comment
	majorVersion = regexp.MustCompile(`/v\d+$`)
)

// TestDependencies tests that docs/architecture.md says what each module of go.mod is for, and that no
// program links a module which the page has for tests only, or for mcp-jail-cli only.
func TestDependencies(t *testing.T) {
	_, table, _ := strings.Cut(testkit.ReadFile(t, architecture), "\n## Dependencies\n")
	modules := directModule.FindAllStringSubmatch(testkit.ReadFile(t, "go.mod"), -1)
	if len(modules) < 10 {
		t.Fatalf("%d modules", len(modules))
	}
	links := map[string][]string{}
	for _, program := range []string{"mcp-jail", "mcp-jail-tls", "mcp-jail-cli"} {
		links[program] = listed(t, program)
	}
	limited := map[string]int{"": 0, "tests only": 0, "`mcp-jail-cli` only": 0}
	for _, m := range modules {
		name := majorVersion.ReplaceAllString(m[1], "")
		name = strings.TrimPrefix(strings.TrimPrefix(name, "github.com/"), "golang.org/")
		row := regexp.MustCompile(`(?m)^\|.*` + regexp.QuoteMeta(name) + `.*$`).FindString(table)
		if row == "" {
			t.Errorf("%s does not say what %s is for", architecture, m[1])
		}
		only := regexp.MustCompile("tests only|`mcp-jail-cli` only").FindString(row)
		limited[only]++
		for program, packages := range links {
			linked := slices.ContainsFunc(packages, func(p string) bool { return p == m[1] || strings.HasPrefix(p, m[1]+"/") })
			if linked && (only == "tests only" || only != "" && program != "mcp-jail-cli") {
				t.Errorf("%s links %s, which %s has for %s", program, m[1], architecture, only)
			}
		}
	}
	if len(limited) != 3 || limited["tests only"] == 0 || limited["`mcp-jail-cli` only"] == 0 {
		t.Errorf("control: %v", limited)
	}
}
