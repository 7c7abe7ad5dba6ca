package session

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// ExpandHome replaces a leading ~/ of each file, and ~\ on Windows: MCP clients start programs without a shell that
// would. The files stay relative, so that errors name them as the user typed them.
func ExpandHome(files []string) ([]string, error) {
	out := slices.Clone(files)
	for i, f := range files {
		if rest, ok := hostfs.CutHome(runtime.GOOS, f); ok {
			home, err := os.UserHomeDir()
			if err != nil {
				return nil, err
			}
			out[i] = filepath.Join(home, rest)
		}
	}
	return out, nil
}

// AbsolutePath returns the absolute path of a file of the command line.
func AbsolutePath(file string) (string, error) {
	files, err := ExpandHome([]string{file})
	if err != nil {
		return "", err
	}
	return filepath.Abs(files[0])
}

// CheckLog returns why mcp-jail does not write its log to a file, or nil. The log has text of the
// server and of its client in it, and the command line may be a project's. So it is not written into
// what decides what runs outside of the jail, or what it may do.
func CheckLog(file string) error {
	if !strings.HasPrefix(file, "/") {
		return nil // of Windows, where no file is protected
	}
	host, err := hostfs.LocalHost()
	if err != nil {
		return err
	}
	place := cmp.Or(resolve.Guarded(&host, file, true), resolve.Sensitive(&host, &policy.Policy{}, file))
	if real := resolveLinks(file); place == "" && (policy.HasProtectedName(file) || policy.HasProtectedName(real)) {
		place = file
	}
	if place == "" {
		return nil
	}
	return fmt.Errorf("%s: programs outside of the jail believe what is in %s. Name another file", file, place)
}

// WithoutOperation returns an error about a file without the word "open", which the user did not ask
// for.
func WithoutOperation(err error) error {
	if e, ok := err.(*fs.PathError); ok && e.Op == "open" {
		return fmt.Errorf("%s: %w", e.Path, e.Err)
	}
	return err
}

// AbsolutePaths returns the absolute paths of files, for code that has no working directory.
func AbsolutePaths(files []string) (out []string) {
	for _, f := range files {
		if abs, err := filepath.Abs(f); err == nil {
			out = append(out, abs)
		}
	}
	return out
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && (info.IsDir() || info.Mode().IsRegular()) && info.Mode()&0o111 != 0
}

// mayUse reports whether the user has rights at a path without a jail: to start it, to read it, and to
// change it, or to make it where it is missing, with the directories above it.
func mayUse(path string, rights policy.Rights) bool {
	for rights&policy.Write != 0 && !pathExists(path) && path != filepath.Dir(path) {
		path = filepath.Dir(path)
	}
	return (!rights.Has(policy.Execute) || isExecutable(path)) && (!rights.Has(policy.Read) || mayRead(path)) && (rights&policy.Write == 0 || mayWrite(path))
}

func pathExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// resolveLinks resolves the symbolic links in path. The last components may be missing.
func resolveLinks(path string) string {
	for dir := path; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, path[len(dir):])
		}
		if dir == filepath.Dir(dir) {
			return path
		}
	}
}
