package kernel

import (
	"os"
	"path/filepath"
	"strings"
)

const program = "mcp-jail"

// typed returns how a user types the command mcp-jail to start the one that a program belongs to: by its
// name if the search path leads to it, and otherwise by its path. Another program is that of a caller of
// package confine.
func typed(self, path string) string {
	self = strings.TrimSuffix(self, "-cli")
	own, err := os.Stat(self)
	if err != nil || filepath.Base(self) != program {
		return program
	}
	for _, dir := range filepath.SplitList(path) {
		found := filepath.Join(dir, program)
		there, err := os.Stat(found)
		switch {
		case err != nil || there.IsDir() || filepath.Base(dir) == ".bin": // of a project, or of npx, which is in PATH while it runs
			continue
		case os.SameFile(own, there) || launches(found, self):
			return program
		}
		break
	}
	if strings.Trim(self, "/._-+@0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == "" {
		return self
	}
	return "'" + strings.ReplaceAll(self, "'", `'\''`) + "'"
}

// launches reports whether a file is the launcher of npm's package mcp-jail, and self its program.
func launches(file, self string) bool {
	real, err := filepath.EvalSymlinks(file)
	tree, _, found := strings.Cut(real, "/node_modules/"+program+"/")
	return err == nil && found && strings.HasPrefix(self, tree+"/node_modules/")
}
