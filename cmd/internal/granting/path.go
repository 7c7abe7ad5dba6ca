package granting

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/winpath"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Person is the user who types a path, in a directory of a system as in runtime.GOOS.
type Person struct{ System, Home, Dir string }

// Path returns a path that a person typed as every directory reads it alike: it begins with "/", with a
// drive of Windows, or with "~/". A slash at its end stays: it asks mcp-jail to create the directory.
func (p Person) Path(typed string) (string, error) {
	slash := ""
	if ends := strings.TrimRight(typed, p.slashes()); len(ends) < len(typed) && ends != "" {
		slash = "/"
	}
	path, err := p.whole(typed)
	if err != nil {
		return "", err
	}
	if p.System == "windows" { // which takes ".." out of a path before it follows a link
		return p.short(path, slash), nil
	}
	if link := hostfs.UpFromLink(path); link != "" {
		return "", fmt.Errorf("%s can be read in two ways: %s is a symbolic link, and .. comes after it; type the path without that", show.Line(typed), show.Line(link))
	}
	return p.short(filepath.Clean(path), slash), nil
}

// slashes are the characters that end a name.
func (p Person) slashes() string {
	if p.System == "windows" {
		return `/\`
	}
	return "/"
}

// whole returns an absolute path. That of Windows is clean.
func (p Person) whole(typed string) (string, error) {
	rest, isHome := hostfs.CutHome(p.System, typed)
	switch {
	case typed == "~":
		typed = p.Home
	case isHome:
		typed = p.Home + p.slashes()[:1] + rest
	}
	if p.System == "windows" {
		if err := winpath.CheckVariable(typed); err != nil {
			return "", err
		}
		return winpath.Clean(winpath.Join(p.Dir, typed))
	}
	if !strings.HasPrefix(typed, "/") {
		typed = p.Dir + "/" + typed
	}
	return typed, nil
}

func (p Person) short(path, slash string) string {
	if p.System == "windows" {
		home, err := winpath.Clean(p.Home)
		if err != nil || !winpath.Within(path, home) || winpath.Dir(home) == home {
			if slash != "" && !strings.HasSuffix(path, `\`) {
				return path + `\`
			}
			return path
		}
		names := strings.Split(path, `\`)[strings.Count(home, `\`)+1:]
		if len(names) == 0 {
			return "~/"
		}
		return "~/" + strings.Join(names, "/") + slash
	}
	switch rest, below := strings.CutPrefix(path, p.Home+"/"); {
	case p.Home == "" || p.Home == "/" || path == "/":
	case path == p.Home:
		return "~/"
	case below:
		return "~/" + rest + slash
	}
	if path == "/" {
		return path
	}
	return path + slash
}

// Whole returns a path as Path returns it, as an absolute one.
func (p Person) Whole(path string) string {
	if p.System == "windows" {
		if whole, err := p.whole(path); err == nil {
			return whole
		}
		return path
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(p.Home, rest)
	}
	if !filepath.IsAbs(path) {
		return filepath.Join(p.Dir, path)
	}
	return filepath.Clean(path)
}
