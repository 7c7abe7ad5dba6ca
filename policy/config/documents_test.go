package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/presets"
)

const schemaURL = "https://raw.githubusercontent.com/mcp-jail/mcp-jail/main/docs/mcp-jail.schema.json"

// TestDocuments reads every configuration of the documentation, the examples and the presets, and has the schema read it
// too, with another library. It refuses each as soon as a key is misspelt, or a value of another type. The examples name
// the schema in their first line.
func TestDocuments(t *testing.T) {
	text, err := os.ReadFile("../../docs/mcp-jail.schema.json")
	testkit.Must(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	testkit.Must(t, err)
	c := jsonschema.NewCompiler()
	testkit.Must(t, c.AddResource(schemaURL, doc))
	schema, err := c.Compile(schemaURL)
	testkit.Must(t, err)
	mistakes := 0
	block := regexp.MustCompile("(?ms)^```toml\n(.*?)^```$")
	own := regexp.MustCompile(`(?m)^(version *= *1$|\[\[?(servers|defaults)\b)`)
	root := filepath.Join("..", "..")
	read := map[string]int{}
	try := func(name, text string) {
		read[name]++
		var doc map[string]any
		if err := toml.Unmarshal([]byte(text), &doc); err != nil || schema.Validate(plain(t, doc)) != nil {
			t.Errorf("%s: %v, %v\n%s", name, err, schema.Validate(plain(t, doc)), text)
		}
		mistakes += spoil(t, schema, doc, doc, false)
		_, err := config.Decode([]byte(text), name)
		var problems policy.Problems
		errors.As(err, &problems)
		for _, p := range problems {
			if !strings.Contains(p.Message, "has no command") && !strings.Contains(p.Message, "cannot be enforced") { // a part, and what policy.md shows
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
		if !strings.HasPrefix(string(data), "#:schema "+schemaURL+"\n") {
			t.Errorf("%s: the first line does not name the schema", file)
		}
		try(filepath.Base(file), string(data))
		return err
	}))
	for _, name := range presets.Names() {
		p, err := presets.Find(name)
		testkit.Must(t, err)
		try("a preset", string(p.Config))
	}
	if mistakes < 500 {
		t.Errorf("only %d mistakes were tried", mistakes)
	}
	for _, name := range []string{"policy.md", "reference.md", "notes.toml"} {
		if read[name] == 0 {
			t.Errorf("%s: no configuration was found", name)
		}
	}
}

// plain returns a document as the schema reads it.
func plain(t *testing.T, doc map[string]any) any {
	text, err := json.Marshal(doc)
	testkit.Must(t, err)
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	testkit.Must(t, err)
	return out
}

// spoil puts one mistake after the other into a document, each at a key of the table at, and returns their number. The
// user chooses the keys of some tables.
func spoil(t *testing.T, schema *jsonschema.Schema, doc, at map[string]any, chosen bool) (n int) {
	for key, was := range at {
		if at[key] = 1.5; schema.Validate(plain(t, doc)) == nil {
			t.Errorf("%s may be a fraction", key)
		}
		delete(at, key)
		if at[key+"_"] = was; !chosen && schema.Validate(plain(t, doc)) == nil {
			t.Errorf("%s may be misspelt", key)
		}
		delete(at, key+"_")
		at[key] = was
		items, _ := was.([]any)
		for _, below := range append(items, was) {
			if table, ok := below.(map[string]any); ok {
				n += spoil(t, schema, doc, table, slices.Contains([]string{"servers", "tools", "commands"}, key))
			}
		}
		n += 2
	}
	return n
}
