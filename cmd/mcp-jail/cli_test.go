package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMessagesNameSubcommands tests that all subcommands which messages name exist.
func TestMessagesNameSubcommands(t *testing.T) {
	root := filepath.Join("..", "..")
	known := map[string]bool{}
	for _, s := range subcommands() {
		known[s.name] = true
	}
	advice := regexp.MustCompile("(?:`|  )mcp-jail ([a-z]+)")
	found := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		b, err := os.ReadFile(path)
		for _, m := range advice.FindAllSubmatch(b, -1) {
			if found++; !known[string(m[1])] {
				t.Errorf("%s speaks of %s, and there is no such command", path, m[0])
			}
		}
		return err
	})
	if err != nil || found == 0 {
		t.Fatalf("%d found, %v", found, err)
	}
}
