package runtime

import (
	"path"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// A manager is a directory in which a version manager keeps one directory for each version.
type manager struct {
	name    string
	root    string // the directory of versions
	program string // the interpreter, relative to a version
}

// managers returns the directories of the version managers for a language, whether they are
// there or not. A directory that a variable names replaces the usual one.
func managers(h *hostfs.Host, lang Language) (out []manager) {
	data := dataHome(h)
	add := func(name, variable, below, program string, usual ...string) {
		if v, ok := h.Getenv(variable); ok && path.IsAbs(v) {
			usual = []string{path.Clean(v)}
		}
		for _, root := range usual {
			out = append(out, manager{name, path.Join(root, below), program})
		}
	}
	home := func(name string) string { return path.Join(h.Home, name) }
	if lang == Node {
		add("nvm", "NVM_DIR", "versions/node", "bin/node", home(".nvm"), home(".config/nvm"))
		add("fnm", "FNM_DIR", "node-versions", "installation/bin/node", path.Join(data, "fnm"), home(".fnm"), home("Library/Application Support/fnm"))
		add("volta", "VOLTA_HOME", "tools/image/node", "bin/node", home(".volta"))
		add("asdf", "ASDF_DATA_DIR", "installs/nodejs", "bin/node", home(".asdf"))
		add("mise", "MISE_DATA_DIR", "installs/node", "bin/node", path.Join(data, "mise"))
		add("nodenv", "NODENV_ROOT", "versions", "bin/node", home(".nodenv"))
		add("n", "N_PREFIX", "n/versions/node", "bin/node", "/usr/local", home("n"))
		return out
	}
	add("pyenv", "PYENV_ROOT", "versions", "bin/python3", home(".pyenv"))
	add("asdf", "ASDF_DATA_DIR", "installs/python", "bin/python3", home(".asdf"))
	add("mise", "MISE_DATA_DIR", "installs/python", "bin/python3", path.Join(data, "mise"))
	add("uv", "UV_PYTHON_INSTALL_DIR", "", "bin/python3", path.Join(data, "uv/python"))
	return out
}

// dataHome returns the directory of programs' data (XDG Base Directory Specification).
func dataHome(h *hostfs.Host) string {
	if v, ok := h.Getenv("XDG_DATA_HOME"); ok && path.IsAbs(v) {
		return path.Clean(v)
	}
	return path.Join(h.Home, ".local/share")
}

// advice returns the command by which a manager gets a version, "" if there is none.
func advice(name string, lang Language, version string) string {
	switch {
	case name == "nvm", name == "fnm":
		return name + " install " + version
	case name == "volta":
		return "volta install node@" + version
	case name == "n":
		return "n " + version
	case name == "mise":
		return "mise use -g " + string(lang) + "@" + version
	case name == "pyenv":
		return "pyenv install " + version
	case name == "uv":
		return "uv python install " + version
	case name == "asdf" && lang == Node:
		return "asdf install nodejs latest:" + version
	case name == "asdf":
		return "asdf install python latest:" + version
	}
	return ""
}
