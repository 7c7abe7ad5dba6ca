package policy

import (
	"fmt"
	"path"
	"strings"
)

// CheckPath validates the path of an fs rule without looking at the disk.
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

func variableIn(path string) string {
	first, _, _ := strings.Cut(path, "/")
	name := strings.Trim(strings.TrimPrefix(first, "$"), "{}")
	if !strings.HasPrefix(first, "$") || name == "" || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") != "" {
		return ""
	}
	return name
}

// CheckSensitivePath validates an entry of access.sensitive_paths.
func CheckSensitivePath(s string) error {
	switch {
	case s == "":
		return fmt.Errorf("a sensitive path is empty")
	case strings.ContainsAny(s, "\x00\r\n"):
		return fmt.Errorf("a sensitive path contains a NUL or a line break")
	case len(s) >= 4096:
		return fmt.Errorf("a sensitive path is longer than 4095 bytes")
	case variableIn(s) != "":
		return fmt.Errorf("%q: variables are not expanded; write ~/NAME for a place in the home directory, and a name that begins with $ as ./%s", Abbreviate(s), Abbreviate(s))
	case s[0] == '~' && !strings.HasPrefix(s, "~/"):
		return fmt.Errorf("%q: write ~/NAME, an absolute path, a path in the workspace, or **/NAME", Abbreviate(s))
	}
	literal := s
	if pattern, ok := strings.CutPrefix(s, "**/"); ok {
		if strings.Trim(pattern, "*/") == "" {
			return fmt.Errorf("%q would make everything sensitive", Abbreviate(s))
		}
		literal = ""
		if strings.Contains(pattern, "**") {
			return fmt.Errorf("%q: ** is only understood once, at the beginning", Abbreviate(s))
		}
		for _, part := range strings.Split(pattern, "/") {
			if part == "" || part == "." || part == ".." {
				return fmt.Errorf("%q: no empty or dot components after **/", Abbreviate(s))
			}
		}
	}
	if strings.ContainsAny(path.Dir(literal), "*?[") {
		return fmt.Errorf("%q: wildcards are for the last component, or after a leading **/", Abbreviate(s))
	}
	if _, err := path.Match(s, ""); err != nil {
		return fmt.Errorf("%q is not a valid pattern", Abbreviate(s))
	}
	return nil
}
