package installed

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/store"
)

// maxMetadata bounds what is read of a package's own description.
const maxMetadata = 4 << 20

// NameRemark returns what to say of the name that an installed package gives itself in the MCP
// registry: mcpName in package.json, or "mcp-name: NAME" in the description of a Python package. The
// registry lists a package under a name only if it says so, which shows that its publisher means
// it. asked is the name that was asked for, or "". It returns "" if the names are the same, or if
// there is no package.
func NameRemark(s store.Store, e *lockfile.Entry, asked string) string {
	tree, err := s.Open(ID(e))
	if err != nil {
		return ""
	}
	defer tree.Close()
	return describes(tree.Dir, e).remark(e.Name+" "+e.Version, asked)
}

func (d description) remark(called, asked string) string {
	switch {
	case asked == "" && d.owner != "" && len(d.names) == 1 && isOthers(d.names[0], d.owner):
		return fmt.Sprintf("%s calls itself %s in the MCP registry, and says that its source is of %s on GitHub: look whether it is a copy", called, d.names[0], d.owner)
	case asked == "" || slices.Contains(d.names, asked):
		return ""
	case len(d.names) == 0:
		return fmt.Sprintf("%s does not call itself %s (mcp_name), or anything else: the MCP registry lists only packages that do, so look whether it is the one that you mean", called, asked)
	}
	return fmt.Sprintf("%s calls itself %s, and mcp_name asks for %s: look whether it is the package that you mean", called, strings.Join(d.names, ", "), asked)
}

// description is what a package says of itself.
type description struct {
	names []string // in the MCP registry
	owner string   // of its repository on GitHub; "" if that is elsewhere
}

func describes(tree string, e *lockfile.Entry) (d description) {
	if e.Ecosystem == lockfile.NPM {
		var manifest struct {
			MCPName    string
			Repository json.RawMessage
		}
		if json.Unmarshal(readMetadata(filepath.Join(tree, "node_modules", filepath.FromSlash(e.Name), "package.json")), &manifest) != nil {
			return d
		}
		if manifest.MCPName != "" {
			d.names = []string{manifest.MCPName}
		}
		if m := onGitHub().FindSubmatch(manifest.Repository); m != nil {
			d.owner = string(m[1])
		}
		return d
	}
	files, _ := filepath.Glob(filepath.Join(tree, "site", "*.dist-info", "METADATA"))
	for _, file := range files {
		name, _, _ := strings.Cut(filepath.Base(filepath.Dir(file)), "-")
		if !strings.EqualFold(strings.ReplaceAll(name, "_", "-"), strings.NewReplacer("_", "-", ".", "-").Replace(e.Name)) {
			continue
		}
		for _, m := range inReadme().FindAllSubmatch(readMetadata(file), -1) {
			if found := string(m[1]); !slices.Contains(d.names, found) {
				d.names = append(d.names, found)
			}
		}
	}
	return d
}

var (
	onGitHub = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)github(?:\.com[/:]|:)([a-z0-9-]+)/`) })
	inReadme = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`mcp-name:\s*([A-Za-z0-9.-]+/[A-Za-z0-9._-]*[A-Za-z0-9_])`)
	})
)

func readMetadata(name string) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, maxMetadata))
	return data
}

// isOthers reports whether a name in the registry belongs to another account of GitHub.
func isOthers(name, owner string) bool {
	rest, ok := strings.CutPrefix(name, "io.github.")
	account, _, named := strings.Cut(rest, "/")
	return ok && named && !strings.EqualFold(account, owner)
}
