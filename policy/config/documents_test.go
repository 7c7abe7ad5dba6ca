package config_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// TestDocuments reads every configuration of the documentation and the examples. The examples name the schema in their
// first line.
func TestDocuments(t *testing.T) {
	block := regexp.MustCompile("(?ms)^```toml\n(.*?)^```$")
	own := regexp.MustCompile(`(?m)^(version *= *1$|\[\[?(servers|defaults)\b)`)
	root := filepath.Join("..", "..")
	read := map[string]int{}
	try := func(name, text string) {
		read[name]++
		_, err := config.Decode([]byte(text), name)
		var problems policy.Problems
		errors.As(err, &problems)
		for _, p := range problems {
			if !strings.Contains(p.Message, "has no command") && !strings.Contains(p.Message, "cannot be enforced") { // a part, and what per-call.md shows
				t.Errorf("%s\n%s", p, text)
			}
		}
	}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		testkit.Must(t, err)
		for _, file := range files {
			data, err := os.ReadFile(file)
			testkit.Must(t, err)
			for _, m := range block.FindAllStringSubmatch(string(data), -1) {
				if own.MatchString(m[1]) {
					try(filepath.Base(file), m[1])
				}
			}
		}
	}
	testkit.Must(t, filepath.WalkDir(filepath.Join(root, "examples"), func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".toml" {
			return err
		}
		data, err := os.ReadFile(file)
		if !strings.HasPrefix(string(data), "#:schema https://raw.githubusercontent.com/mcp-jail/mcp-jail/main/docs/mcp-jail.schema.json\n") {
			t.Errorf("%s: the first line does not name the schema", file)
		}
		try(filepath.Base(file), string(data))
		return err
	}))
	for _, name := range []string{"policy.md", "reference.md", "programs.md", "notes.toml"} {
		if read[name] == 0 {
			t.Errorf("%s: no configuration was found", name)
		}
	}
}
