package command

import (
	"encoding/json"
	"path"
	"sort"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// unshim resolves a shim, which a version manager puts into PATH, to the program that the shim
// would start: the shim itself would need the manager's whole directory. It returns "" for a
// file that is not a shim, and an [Error] for a shim without an installed program. rest are
// the directories of PATH after the shim's.
//
// A stand-in of macOS for a developer tool is resolved, too. Programs that are started later may start
// it by its path, so it is among the files that have to be executable.
func (c *Resolver) unshim(p string, rest []string) (string, error) {
	if tool, ok := c.Paths.StandIn(p); ok {
		if tool == "" {
			return "", &Error{Command: p, Reason: "it " + hostfs.NoTools}
		}
		c.Files = append(c.Files, c.Paths.Canonical(p))
		return tool, nil
	}
	dir, name := path.Dir(p), path.Base(p)
	root := path.Dir(dir)
	var real string
	var ok bool
	switch {
	case path.Base(dir) == "shims" && c.Paths.Exists(path.Join(root, "versions")):
		real, ok = c.versions(root, name, rest)
	case path.Base(dir) == "shims" && c.Paths.Exists(path.Join(root, "installs")):
		real, ok = c.installs(root, p, name)
	case path.Base(dir) == "bin" && path.Base(root) == ".volta" && name != "volta" && name != "volta-shim" && name != "volta-migrate":
		real, ok = c.volta(root, name)
	default:
		return "", nil
	}
	if !ok {
		return "", &Error{Command: name, Reason: p + " is a shim, and no installed version that it could start was found", Hint: "write the absolute path of the program"}
	}
	return real, nil
}

// versionVariables are pyenv and its relatives, with the variable that chooses a version.
var versionVariables = map[string]struct{ language, variable string }{
	"pyenv": {"python", "PYENV_VERSION"}, "rbenv": {"ruby", "RBENV_VERSION"}, "nodenv": {"node", "NODENV_VERSION"}, "goenv": {"go", "GOENV_VERSION"},
	"plenv": {"perl", "PLENV_VERSION"}, "phpenv": {"php", "PHPENV_VERSION"}, "jenv": {"java", "JENV_VERSION"},
}

// versions resolves a shim of pyenv and its relatives. The version comes from a variable, else
// from a file in the working directory or above it, else from the global file.
func (c *Resolver) versions(root, name string, rest []string) (string, bool) {
	m, known := versionVariables[strings.TrimPrefix(path.Base(root), ".")]
	if !known {
		m = versionVariables["pyenv"]
	}
	var wanted []string
	if v, _ := c.H.Getenv(m.variable); v != "" {
		wanted = strings.Split(v, ":")
	} else if text := c.nearestFile("." + m.language + "-version"); text != "" {
		wanted = strings.Fields(text)
	} else {
		wanted = strings.Fields(c.Paths.ReadStart(path.Join(root, "version")))
	}
	installed := c.list(path.Join(root, "versions"))
	if len(wanted) == 0 {
		wanted = []string{"system"}
	}
	for _, w := range wanted {
		if w == "system" {
			for _, dir := range rest {
				if p := path.Join(dir, name); path.Base(dir) != "shims" && c.Executable(p) == "" {
					return p, true
				}
			}
			continue
		}
		// The first installed version that fits, newest first, as the manager would start it.
		for _, v := range matching(installed, w) {
			if p := path.Join(root, "versions", v, "bin", name); c.Executable(p) == "" {
				return p, true
			}
		}
	}
	return "", false
}

// installs resolves a shim of asdf, which is a script that lists plugin and version, or of mise,
// which is a link to mise itself.
func (c *Resolver) installs(root, shim, name string) (string, bool) {
	type candidate struct{ plugin, version string }
	var candidates []candidate
	for _, line := range strings.Split(c.Paths.ReadStart(shim), "\n") {
		if fields := strings.Fields(line); len(fields) >= 4 && fields[0] == "#" && fields[1] == "asdf-plugin:" {
			candidates = append(candidates, candidate{fields[2], fields[3]})
		}
	}
	var plugins []string
	for _, cd := range candidates {
		plugins = append(plugins, cd.plugin)
	}
	if len(plugins) == 0 {
		plugins = c.list(path.Join(root, "installs"))
	}
	pinned := c.nearestFile(".tool-versions")
	if pinned == "" {
		pinned = c.Paths.ReadStart(path.Join(c.H.Home, ".tool-versions"))
	}
	try := func(plugin, version string) (string, bool) {
		for _, bin := range [...]string{"bin", "."} {
			p := path.Join(root, "installs", plugin, version, bin, name)
			if c.Executable(p) == "" {
				return p, true
			}
		}
		return "", false
	}
	for _, plugin := range plugins {
		for _, line := range strings.Split(pinned, "\n") {
			fields := strings.Fields(line)
			if len(fields) < 2 || fields[0] != plugin {
				continue
			}
			for _, version := range fields[1:] {
				for _, v := range matching(c.list(path.Join(root, "installs", plugin)), version) {
					if p, ok := try(plugin, v); ok {
						return p, true
					}
				}
			}
		}
	}
	for i := len(candidates) - 1; i >= 0; i-- {
		if p, ok := try(candidates[i].plugin, candidates[i].version); ok {
			return p, true
		}
	}
	for _, plugin := range plugins {
		versions := c.list(path.Join(root, "installs", plugin))
		for _, v := range append([]string{"latest"}, newestFirst(versions)...) {
			if p, ok := try(plugin, v); ok {
				return p, true
			}
		}
	}
	return "", false
}

// volta resolves a shim of volta to the default platform, or to the image of a global package.
func (c *Resolver) volta(root, name string) (string, bool) {
	var platform struct {
		Node struct{ Runtime string }
	}
	_ = json.Unmarshal([]byte(c.Paths.ReadStart(path.Join(root, "tools/user/platform.json"))), &platform)
	images := path.Join(root, "tools/image")
	var tries []string
	if v := platform.Node.Runtime; v != "" {
		tries = append(tries, path.Join(images, "node", v, "bin", name))
	}
	for _, pkg := range c.list(path.Join(images, "packages")) {
		tries = append(tries, path.Join(images, "packages", pkg, "bin", name))
	}
	for _, p := range tries {
		if c.Executable(p) == "" {
			return p, true
		}
	}
	return "", false
}

func (c *Resolver) nearestFile(name string) string {
	for d := c.WorkDir; strings.HasPrefix(d, "/"); d = path.Dir(d) {
		if text := c.Paths.ReadStart(path.Join(d, name)); strings.TrimSpace(text) != "" {
			return text
		}
		if d == path.Dir(d) {
			break
		}
	}
	return ""
}

// list returns the names in a directory, sorted.
func (c *Resolver) list(p string) []string {
	at, err := c.Paths.Resolve(p)
	if err != nil || !at.Exists() {
		return nil
	}
	names, _ := c.Paths.Names(at.Path)
	return names
}

// matching returns the installed versions that a wanted version means, newest first: "3.11"
// means every 3.11.x.
func matching(installed []string, wanted string) (out []string) {
	if wanted == "" || strings.ContainsAny(wanted, "/\x00") || wanted == ".." || strings.HasPrefix(wanted, "#") {
		return nil
	}
	for _, v := range installed {
		if v == wanted {
			return []string{v}
		}
		if strings.HasPrefix(v, wanted+".") {
			out = append(out, v)
		}
	}
	return newestFirst(out)
}

func newestFirst(versions []string) []string {
	out := append([]string(nil), versions...)
	sort.SliceStable(out, func(i, j int) bool { return versionLess(out[j], out[i]) })
	return out
}

func versionLess(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := 0; i < len(as) && i < len(bs); i++ {
		x, errx := strconv.Atoi(as[i])
		y, erry := strconv.Atoi(bs[i])
		if errx == nil && erry == nil && x != y {
			return x < y
		}
		if (errx != nil || erry != nil) && as[i] != bs[i] {
			return as[i] < bs[i]
		}
	}
	return len(as) < len(bs)
}
