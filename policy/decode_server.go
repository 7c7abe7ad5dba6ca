package policy

import (
	"fmt"
	"strings"
)

// checkPath validates the path of an fs rule as far as this is possible
// without a disk.
func CheckPath(path string) error {
	switch {
	case path == "":
		return fmt.Errorf("the path is empty; write \".\" for the workspace")
	case strings.ContainsAny(path, "\x00"):
		return fmt.Errorf("the path contains a NUL")
	case strings.ContainsAny(path, "\n\r"):
		return fmt.Errorf("the path contains a line break")
	case len(path) >= 4096:
		return fmt.Errorf("the path is longer than 4095 bytes")
	case path[0] == '~' && path != "~" && !strings.HasPrefix(path, "~/"):
		return fmt.Errorf("%q: only ~/ is understood; write the home directory of another user as an absolute path, and a name that begins with ~ as ./%s", Abbreviate(path), Abbreviate(path))
	case variableIn(path) != "":
		return fmt.Errorf("%q: variables are not expanded; write ~/ for the home directory, %q for the workspace, and a name that begins with $ as ./%s", Abbreviate(path), ".", Abbreviate(path))
	case strings.Contains(path, "**") || strings.HasSuffix(path, "/*") || path == "*":
		return fmt.Errorf("%q: a path is literal, there are no globs; a rule covers everything below its path already", Abbreviate(path))
	}
	return nil
}

// variableIn is the variable that a path begins with in a shell, "" without one.
func variableIn(path string) string {
	first, _, _ := strings.Cut(path, "/")
	name := strings.Trim(strings.TrimPrefix(first, "$"), "{}")
	if !strings.HasPrefix(first, "$") || name == "" || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") != "" {
		return ""
	}
	return name
}
