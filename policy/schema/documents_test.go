package schema

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/presets"
)

// A document is a configuration in the repository.
type document struct{ name, text string }

// block matches a block of TOML in Markdown, and own one that is a configuration of mcp-jail and
// not of a client.
var (
	block = regexp.MustCompile("(?ms)^```toml\n(.*?)^```$")
	own   = regexp.MustCompile(`(?m)^(version *= *1$|\[\[?(servers|defaults)\b)`)
)

// documents returns the examples, the blocks of the documentation, and the tables of presets.
func documents(t *testing.T) (all []document) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "vendor" || d.Name() == ".git" || d.Name() == "bin"):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".md" && filepath.Ext(name) != ".toml":
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, text := filepath.ToSlash(strings.TrimPrefix(name, root+string(filepath.Separator))), string(data)
		switch {
		case filepath.Ext(name) == ".md":
			for _, m := range block.FindAllStringSubmatch(text, -1) {
				if own.MatchString(m[1]) {
					all = append(all, document{rel, m[1]})
				}
			}
		case strings.HasPrefix(rel, "examples/"):
			all = append(all, document{rel, text})
		}
		return nil
	})
	testkit.Must(t, err)
	for _, name := range presets.Names() {
		p, err := presets.Find(name)
		testkit.Must(t, err)
		all = append(all, document{"preset " + name, string(p.Config)})
	}
	return all
}

// TestDocuments validates every configuration in the repository, and refuses it as soon as one
// of its keys is misspelt or one of its values is of another type.
func TestDocuments(t *testing.T) {
	s := compile(t)
	files := map[string]int{}
	wrong := 0
	for _, d := range documents(t) {
		var doc map[string]any
		if err := toml.Unmarshal([]byte(d.text), &doc); err != nil {
			t.Errorf("%s: %v\n%s", d.name, err, d.text)
			continue
		}
		if err := validate(t, s, doc); err != nil {
			t.Errorf("%s: %v\n%s", d.name, err, d.text)
			continue
		}
		files[strings.Split(d.name, " ")[0]]++
		wrong += spoil(t, s, d.name, "", doc, doc)
	}
	for _, name := range []string{"docs/policy.md", "docs/reference.md", "docs/programs.md", "examples/servers/notes/notes.toml", "preset"} {
		if files[name] == 0 {
			t.Errorf("%s: no configuration was found", name)
		}
	}
	if wrong < 500 {
		t.Errorf("only %d mistakes were tried", wrong)
	}
}

// spoil puts one mistake after the other into a document, each at a key of the table at, and
// reports those that the schema accepts. It returns their number.
func spoil(t *testing.T, s *jsonschema.Schema, name, path string, doc, at map[string]any) (n int) {
	t.Helper()
	refused := func(key, mistake string) {
		t.Helper()
		if n++; validate(t, s, doc) == nil {
			t.Errorf("%s: %s.%s %s, and the schema accepts it", name, path, key, mistake)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(at)) {
		value := at[key]
		at[key] = 1.5
		refused(key, "is a fraction")
		if !named.MatchString(path) {
			delete(at, key)
			at[key+"_"] = value
			refused(key, "is misspelt")
			delete(at, key+"_")
		}
		at[key] = value
		switch v := value.(type) {
		case map[string]any:
			n += spoil(t, s, name, path+"."+key, doc, v)
		case []any:
			for _, item := range v {
				if table, ok := item.(map[string]any); ok {
					n += spoil(t, s, name, path+"."+key, doc, table)
				}
			}
		}
	}
	return n
}

// named matches the tables whose keys the user chooses.
var named = regexp.MustCompile(`\.(servers|tools|commands)$`)

// TestLine tests that the configuration files of the repository name the schema in their first
// line.
func TestLine(t *testing.T) {
	for _, d := range documents(t) {
		if filepath.Ext(d.name) == ".toml" && !strings.HasPrefix(d.text, Line) {
			t.Errorf("%s: the first line is not %s", d.name, Line)
		}
	}
}
