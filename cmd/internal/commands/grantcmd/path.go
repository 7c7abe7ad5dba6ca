package grantcmd

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/winpath"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// person is the user who types a path, in a directory of a system as in runtime.GOOS.
type person struct{ system, home, dir string }

// path returns a path that a person typed as every directory reads it alike: it begins with "/", with a
// drive of Windows, or with "~/". A slash at its end stays: it asks mcp-jail to create the directory.
func (p person) path(typed string) (string, error) {
	slash := ""
	if ends := strings.TrimRight(typed, p.slashes()); len(ends) < len(typed) && ends != "" {
		slash = "/"
	}
	path, err := p.whole(typed)
	if err != nil {
		return "", err
	}
	if p.system == "windows" { // which takes ".." out of a path before it follows a link
		return p.short(path, slash), nil
	}
	if link := hostfs.UpFromLink(path); link != "" {
		return "", fmt.Errorf("%s can be read in two ways: %s is a symbolic link, and .. comes after it; type the path without that", show.Line(typed), show.Line(link))
	}
	return p.short(filepath.Clean(path), slash), nil
}

// slashes are the characters that end a name.
func (p person) slashes() string {
	if p.system == "windows" {
		return `/\`
	}
	return "/"
}

// whole returns an absolute path. That of Windows is clean.
func (p person) whole(typed string) (string, error) {
	rest, isHome := hostfs.CutHome(p.system, typed)
	switch {
	case typed == "~":
		typed = p.home
	case isHome:
		typed = p.home + p.slashes()[:1] + rest
	}
	if p.system == "windows" {
		if err := winpath.CheckVariable(typed); err != nil {
			return "", err
		}
		return winpath.Clean(winpath.Join(p.dir, typed))
	}
	if !strings.HasPrefix(typed, "/") {
		typed = p.dir + "/" + typed
	}
	return typed, nil
}

func (p person) short(path, slash string) string {
	if p.system == "windows" {
		home, err := winpath.Clean(p.home)
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
	switch rest, below := strings.CutPrefix(path, p.home+"/"); {
	case p.home == "" || p.home == "/" || path == "/":
	case path == p.home:
		return "~/"
	case below:
		return "~/" + rest + slash
	}
	if path == "/" {
		return path
	}
	return path + slash
}

// absolute returns a path as path returns it, as an absolute one.
func (p person) absolute(path string) string {
	if p.system == "windows" {
		if whole, err := p.whole(path); err == nil {
			return whole
		}
		return path
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(p.home, rest)
	}
	if !filepath.IsAbs(path) {
		return filepath.Join(p.dir, path)
	}
	return filepath.Clean(path)
}
