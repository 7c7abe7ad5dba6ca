package runtime

import (
	"path"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
)

var (
	nodeVersion   = lazy.Regexp(`(?m)^#define NODE_(MAJOR|MINOR|PATCH)_VERSION (\d+)\s*$`)
	nodeRelease   = lazy.Regexp(`(?m)^#define NODE_VERSION_IS_RELEASE 1\s*$`)
	pythonVersion = lazy.Regexp(`(?m)^#define PY_VERSION\s+"([^"]*)"`)
)

// HeaderVersion returns the version of an interpreter without links as the header files of its
// installation give it, or "" if it has none: include/node/node_version.h beside the directory of
// node, include/python3.11/patchlevel.h beside that of python3.11. For an interpreter of another
// name it is not sure whose the headers are.
func HeaderVersion(h *hostfs.Host, file string) string {
	dir, name := path.Split(file)
	if path.Base(dir) != "bin" {
		return ""
	}
	include := path.Join(path.Dir(path.Clean(dir)), "include")
	if name == "node" {
		text := header(h, path.Join(include, "node/node_version.h"))
		numbers := nodeVersion().FindAllStringSubmatch(text, -1)
		if len(numbers) != 3 || !nodeRelease().MatchString(text) {
			return ""
		}
		return VersionIn(numbers[0][2] + "." + numbers[1][2] + "." + numbers[2][2])
	}
	if !strings.HasPrefix(name, "python3.") {
		return ""
	}
	if found := pythonVersion().FindStringSubmatch(header(h, path.Join(include, name, "patchlevel.h"))); found != nil {
		return VersionIn(found[1])
	}
	return ""
}

func header(h *hostfs.Host, file string) string {
	at, err := hostfs.NewLinkResolver(h).Resolve(file)
	if err != nil || !at.Exists() || !at.Info.Mode.IsRegular() {
		return ""
	}
	text, _ := h.ReadHead(at.Path, 64<<10)
	return string(text)
}
