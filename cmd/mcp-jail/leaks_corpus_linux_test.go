//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// leakyCorpus counts results and those that were refused.
type leakyCorpus struct {
	mu      sync.Mutex
	results int
	bytes   int
	refused []string
}

func (c *leakyCorpus) add(what string, m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.results++
	c.bytes += len(m.Result) + len(m.Error)
	if strings.Contains(string(m.Error), "-31008") {
		var e struct{ Message string }
		json.Unmarshal(m.Error, &e)
		c.refused = append(c.refused, what+": "+e.Message)
	}
}

// corpusFiles returns the files below directories that a server is asked for: text and images of
// less than a megabyte. It is half of them in make test-long, else a small part.
func corpusFiles(t *testing.T, dirs ...string) (files []string) {
	t.Helper()
	every := 50
	if testkit.Long() {
		every = 2
	}
	n := 0
	for _, dir := range dirs {
		must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && (d.Name() == ".git" || d.Name() == "bin") {
				return filepath.SkipDir
			}
			info, err := d.Info()
			if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 || info.Size() == 0 {
				return nil
			}
			if n++; n%every == 0 {
				files = append(files, name)
			}
			return nil
		}))
	}
	return files
}

// holdsExample reports whether a file is there to test or to document tokens: a secret found in
// it is no false alarm.
func holdsExample(what string) bool {
	files, _, _ := strings.Cut(what, ": ")
	return slices.ContainsFunc(strings.Fields(files), func(file string) bool {
		return strings.HasSuffix(file, "_test.go") || strings.Contains(file, "/testdata/")
	})
}

// TestLeaksCorpus tests that no result of the official servers is refused with twenty secrets
// and leak_patterns. They read the files of this repository and the installed packages, as text
// and in base64, and list, search and describe them.
func TestLeaksCorpus(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	root, err := filepath.Abs("../..")
	must(t, err)
	packages := filepath.Join(os.Getenv("MCPJAIL_SERVERS"), "node_modules")
	var all leakyCorpus
	t.Run("servers", func(t *testing.T) {
		for name, use := range map[string]func(ask func(tool string, arguments map[string]any)){
			filesystem: func(ask func(string, map[string]any)) { askFiles(corpusFiles(t, root, packages), ask) },
			everything: askEverything, memory: askMemory, thinking: askThinking,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := openCorpus(t, name, root, packages)
				use(func(tool string, arguments map[string]any) {
					what := name + " " + tool
					switch paths := arguments["paths"].(type) {
					case []string:
						what = strings.Join(paths, " ")
					default:
						if file, ok := arguments["path"].(string); ok {
							what = file
						}
					}
					all.add(what, s.call("tools/call", map[string]any{"name": tool, "arguments": arguments}))
				})
				s.close()
			})
		}
	})
	least := 300
	if testkit.Long() {
		least = 10000
	}
	if all.results < least {
		t.Errorf("only %d results", all.results)
	}
	examples := 0
	for _, r := range all.refused {
		if holdsExample(r) {
			examples++
			continue
		}
		t.Errorf("refused: %s", r)
	}
	t.Logf("%d results of %d MB, %d of them refused, with examples of tokens", all.results, all.bytes>>20, examples)
}

// openCorpus starts an official server with twenty secrets and the strictest setting.
func openCorpus(t *testing.T, name, root, packages string) *clientSession {
	t.Helper()
	names, values := leakySecrets(20)
	w := newWorld(t)
	arguments, variables := fmt.Sprintf("%q", server(name)), ""
	if name == filesystem {
		arguments += fmt.Sprintf(", %q, %q", root, packages)
	}
	for i, n := range names {
		w.env = append(w.env, n+"="+values[i])
		variables += fmt.Sprintf("%q, ", n)
	}
	w.env = append(w.env, "MEMORY_FILE_PATH="+filepath.Join(w.work, "memory.jsonl"))
	config := filepath.Join(w.base, "corpus.toml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, `[servers.s]
command = "node"
arguments = [%s]
variables = [%s"MEMORY_FILE_PATH"]
leaks = "block"
leak_patterns = true
[servers.s.access]
fs = [{ path = %q, read = true }, { path = %q, read = true }, { path = ".", read = true, write = true }]
`, arguments, variables, root, packages), 0o644))
	return open(t, w.jail("--config", config, "s"), nil)
}

func askFiles(files []string, ask func(string, map[string]any)) {
	listed := map[string]bool{}
	for i, file := range files {
		ask("read_text_file", map[string]any{"path": file})
		switch i % 5 {
		case 0:
			ask("read_media_file", map[string]any{"path": file})
		case 1:
			ask("get_file_info", map[string]any{"path": file})
		case 2:
			ask("read_text_file", map[string]any{"path": file, "head": 20})
		case 3:
			ask("read_multiple_files", map[string]any{"paths": files[max(0, i-3):i]})
		}
		if dir := filepath.Dir(file); !listed[dir] && len(listed) < 400 {
			listed[dir] = true
			ask("list_directory_with_sizes", map[string]any{"path": dir})
			if len(listed)%20 == 0 {
				ask("directory_tree", map[string]any{"path": dir})
				ask("search_files", map[string]any{"path": dir, "pattern": "**/*.md"})
			}
		}
	}
}

func askEverything(ask func(string, map[string]any)) {
	for i := range corpusCalls(300) {
		ask("echo", map[string]any{"message": strings.Repeat(fmt.Sprintf("message %d \"quoted\" \\ %%20 é\n", i), 1+i%20)})
		ask("get-sum", map[string]any{"a": i, "b": 1 << (i % 40)})
		ask("get-structured-content", map[string]any{"location": []string{"New York", "Chicago", "Los Angeles"}[i%3]})
		ask("get-annotated-message", map[string]any{"messageType": []string{"error", "success", "debug"}[i%3], "includeImage": i%2 == 0})
		ask("get-tiny-image", nil)
		ask("get-resource-links", map[string]any{"count": 1 + i%10})
		ask("get-resource-reference", map[string]any{"resourceType": []string{"Text", "Blob"}[i%2], "resourceId": 1 + i})
	}
}

func askMemory(ask func(string, map[string]any)) {
	for i := range corpusCalls(200) {
		name := fmt.Sprintf("entity-%d", i)
		ask("create_entities", map[string]any{"entities": []map[string]any{{"name": name, "entityType": "thing", "observations": []string{"seen at " + name, "https://example.com/a?b=%20c"}}}})
		ask("create_relations", map[string]any{"relations": []map[string]any{{"from": name, "to": "entity-0", "relationType": "follows"}}})
		ask("search_nodes", map[string]any{"query": fmt.Sprint(i % 10)})
		ask("read_graph", nil)
	}
}

func askThinking(ask func(string, map[string]any)) {
	for i := range corpusCalls(300) {
		ask("sequentialthinking", map[string]any{"thought": fmt.Sprintf("thought %d", i), "nextThoughtNeeded": true, "thoughtNumber": i + 1, "totalThoughts": i + 2})
	}
}

// corpusCalls returns how many rounds of calls there are.
func corpusCalls(all int) int {
	if testkit.Long() {
		return all
	}
	return max(1, all/30)
}
