package schema

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// TestDescriptions tests that every key has a description of short sentences, and that every
// description has its key.
func TestDescriptions(t *testing.T) {
	text, err := Text()
	testkit.Must(t, err)
	for table, keys := range entries() {
		for key, e := range keys {
			b, err := json.Marshal(e.text)
			testkit.Must(t, err)
			if !strings.Contains(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(text)), string(b)) {
				t.Errorf("%s.%s: no key has this description", table, key)
			}
		}
	}
	for _, p := range plant(t).places {
		if strings.HasSuffix(p.name, "[]") || strings.HasSuffix(p.name, ".n") || strings.HasSuffix(p.name, ".*") {
			continue
		}
		description, _ := p.about["description"].(string)
		if description == "" {
			t.Errorf("%s has no description", p.name)
		}
		for sentence := range strings.SplitSeq(description, ". ") {
			if n := len(strings.Fields(sentence)); n > 25 {
				t.Errorf("%s: a sentence has %d words: %s", p.name, n, sentence)
			}
		}
	}
}

// TestDefaults tests that a server has the same policy with the default of a key as without the
// key, and another policy with another value.
func TestDefaults(t *testing.T) {
	found := 0
	for _, p := range plant(t).places {
		preset, ok := p.about["default"]
		if !ok || strings.Contains(p.name, ".value[]") || strings.Contains(p.name, ".tools.") {
			continue
		}
		if n, ok := preset.(float64); ok {
			preset = int64(n)
		}
		found++
		without := policyOf(t, p, nil)
		if got := policyOf(t, p, preset); got != without {
			t.Errorf("%s = %v is not the default:\n%s\nwithout it:\n%s", p.name, preset, got, without)
		}
		if got := policyOf(t, p, other(p.shape, preset)); got == without {
			t.Errorf("control: %s = %v changes nothing", p.name, other(p.shape, preset))
		}
	}
	if found < 30 {
		t.Errorf("only %d defaults were looked at", found)
	}
}

// other returns a value that a schema accepts and that is not the default.
func other(s object, preset any) any {
	words, _ := s["enum"].([]any)
	for _, w := range words {
		if w != preset {
			return w
		}
	}
	if b, ok := preset.(bool); ok {
		return !b
	}
	return int64(s["minimum"].(float64)) + 1
}

var positions = regexp.MustCompile(`f:[0-9]+`)

// policyOf returns the policy of a server with a value at a place, as text without line numbers.
// If v is nil, the key is missing.
func policyOf(t *testing.T, p place, v any) string {
	t.Helper()
	const missing = "this value goes"
	set := v
	if v == nil {
		set = missing
	}
	doc := p.at(set)
	const server = "n"
	if doc["servers"] == nil {
		doc["servers"] = map[string]any{server: map[string]any{"command": "x"}}
	}
	table := doc["servers"].(map[string]any)[server].(map[string]any)
	switch key := p.name[strings.LastIndexByte(p.name, '.')+1:]; { // these keys have no effect without the settings below
	case key == "warm":
		table["stateful"] = false
	case strings.HasPrefix(key, "undo_"):
		table["undo"] = "session"
	case strings.Contains(p.name, ".fs[]."):
		table["access"].(map[string]any)["fs"].([]any)[0].(map[string]any)["delete"] = true
	}
	prune(doc, missing)
	b, err := toml.Marshal(doc)
	testkit.Must(t, err)
	c, err := config.Decode(b, "f")
	if err != nil {
		t.Fatalf("%s = %v: %v", p.name, v, err)
	}
	of, err := c.Policy(server, "")
	if err != nil {
		t.Fatalf("%s = %v: %v", p.name, v, err)
	}
	of.Settings, of.UnusedKeys, of.Where = nil, nil, ""
	return positions.ReplaceAllString(fmt.Sprintf("%+v", *of), "")
}

// prune removes a value from a document.
func prune(in any, value string) {
	switch v := in.(type) {
	case map[string]any:
		for key, below := range v {
			if below == value {
				delete(v, key)
				continue
			}
			prune(below, value)
		}
	case []any:
		for _, item := range v {
			prune(item, value)
		}
	}
}
