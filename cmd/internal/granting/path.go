package granting

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Person is the user who types a path, in a directory.
type Person struct{ Home, Dir string }

// Path returns a path that a person typed as every directory reads it alike: it begins with "/" or
// "~/". A slash at its end stays: it asks mcp-jail to create the directory.
func (p Person) Path(typed string) (string, error) {
	slash := ""
	if strings.HasSuffix(typed, "/") && typed != "/" {
		slash = "/"
	}
	path := typed
	switch rest, isHome := strings.CutPrefix(typed, "~/"); {
	case typed == "~":
		path = p.Home
	case isHome:
		path = p.Home + "/" + rest
	case !strings.HasPrefix(typed, "/"):
		path = p.Dir + "/" + typed
	}
	if link := hostfs.UpFromLink(path); link != "" {
		return "", fmt.Errorf("%s can be read in two ways: %s is a symbolic link, and .. comes after it; type the path without that", show.Line(typed), show.Line(link))
	}
	return p.short(filepath.Clean(path), slash), nil
}

func (p Person) short(path, slash string) string {
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
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(p.Home, rest)
	}
	if !filepath.IsAbs(path) {
		return filepath.Join(p.Dir, path)
	}
	return filepath.Clean(path)
}
