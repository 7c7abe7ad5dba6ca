package hostfs

import (
	"path"
	"slices"
)

// A VersionManager is a place in which a version manager keeps the versions of an interpreter.
type VersionManager struct {
	Name     string // nvm, pyenv, …
	Language string // node or python
	Root     string // what it keeps: no server may write it
	Versions string // the directory with one directory for each version
	Program  string // the interpreter, relative to that of a version
	Variable string // a variable that names another place for it
	replaced bool   // Variable does
}

// VersionManagers returns the places of all version managers for node and python, whether they
// are there or not. A directory that a variable names replaces the usual one. Package
// packages/runtime looks for interpreters there.
func (h *Host) VersionManagers() []VersionManager {
	return slices.DeleteFunc(h.managerPlaces(), func(m VersionManager) bool { return m.replaced })
}

// ManagerRoots returns the Roots of all version managers, also those that a variable replaces:
// another process may not have that variable. Package policy/resolve protects them.
func (h *Host) ManagerRoots() (dirs []string) {
	for _, m := range h.managerPlaces() {
		dirs = append(dirs, m.Root)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// managerTable has a version manager with the usual places of what it keeps.
type managerTable struct {
	name, variable, language, root, versions, program string
	usual                                             []string
}

func (h *Host) managerPlaces() (all []VersionManager) {
	if h.OS == "windows" {
		return nil
	}
	home := func(name string) string { return path.Join(h.Home, name) }
	data := h.dataHome()
	fnm := []string{path.Join(data, "fnm"), home(".fnm")}
	if h.OS == "darwin" {
		fnm = append(fnm, home("Library/Application Support/fnm"))
	}
	return h.managers([]managerTable{
		{"nvm", "NVM_DIR", "node", "", "versions/node", "bin/node", []string{home(".nvm"), home(".config/nvm")}},
		{"fnm", "FNM_DIR", "node", "", "node-versions", "installation/bin/node", fnm},
		{"volta", "VOLTA_HOME", "node", "", "tools/image/node", "bin/node", []string{home(".volta")}},
		{"asdf", "ASDF_DATA_DIR", "node", "", "installs/nodejs", "bin/node", []string{home(".asdf")}},
		{"mise", "MISE_DATA_DIR", "node", "", "installs/node", "bin/node", []string{path.Join(data, "mise")}},
		{"nodenv", "NODENV_ROOT", "node", "", "versions", "bin/node", []string{home(".nodenv")}},
		{"n", "N_PREFIX", "node", "n", "n/versions/node", "bin/node", []string{"/usr/local", home("n")}},
		{"pyenv", "PYENV_ROOT", "python", "", "versions", "bin/python3", []string{home(".pyenv")}},
		{"asdf", "ASDF_DATA_DIR", "python", "", "installs/python", "bin/python3", []string{home(".asdf")}},
		{"mise", "MISE_DATA_DIR", "python", "", "installs/python", "bin/python3", []string{path.Join(data, "mise")}},
		{"uv", "UV_PYTHON_INSTALL_DIR", "python", "", "", "bin/python3", []string{path.Join(data, "uv/python")}},
	})
}

func (h *Host) managers(table []managerTable) (all []VersionManager) {
	for _, m := range table {
		place := func(dir string, replaced bool) {
			all = append(all, VersionManager{m.name, m.language, path.Join(dir, m.root), path.Join(dir, m.versions), m.program, m.variable, replaced})
		}
		v, set := h.UserEnv(m.variable)
		if set = set && path.IsAbs(v); set {
			place(v, false)
		}
		for _, dir := range m.usual {
			place(dir, set)
		}
	}
	return all
}

func (h *Host) dataHome() string {
	if v, ok := h.UserEnv("XDG_DATA_HOME"); ok && path.IsAbs(v) {
		return path.Clean(v)
	}
	return path.Join(h.Home, ".local/share")
}
