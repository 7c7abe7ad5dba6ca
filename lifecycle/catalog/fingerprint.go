package catalog

import (
	"encoding/hex"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// ErrNotCacheable says that a change of the server's program would not be seen, so that
// its answers must not be kept for another session.
var ErrNotCacheable = errors.New("no fingerprint can be taken of the program")

// Fingerprint digests the files that a server's program consists of now: the command, the
// interpreters, the package, project and environment around them, and the files that arguments
// name. Each is digested by path, mode, size, times and inode, a directory without size and times.
// The caller takes the fingerprint before it starts the process whose answers it keeps, so that a
// change in between leads to a fingerprint that no later session has.
//
// The error matches ErrNotCacheable. For example, the program runs code from an unknown place (a
// shell, a container, a language whose packages are not known), there are too many files, or the
// scan takes too long.
func Fingerprint(p *policy.Profile) (string, error) {
	s := newScanner(p)
	kinds := s.addProgram()
	s.checkEnv()
	s.addArguments(kinds)
	s.addPackageManagers(kinds)
	if s.err != nil {
		return "", s.err
	}
	return hex.EncodeToString(s.sum.Sum(nil)), nil
}

// opaque are programs that run code from a place that the profile does not name.
var opaque = []string{
	"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "ruby", "perl", "php", "lua", "julia", "Rscript",
	"deno", "go", "cargo", "dotnet", "make", "pnpm", "yarn", "corepack", "pipx", "poetry", "pdm", "pipenv", "hatch", "rye", "conda", "mamba", "micromamba",
	"docker", "podman", "nerdctl", "kubectl", "ssh", "nix", "wsl", "flatpak", "snap", "systemd-run",
	"timeout", "nice", "ionice", "nohup", "setsid", "stdbuf", "xvfb-run", "sudo", "doas", "strace", "bwrap", "firejail",
}

// runtimeOf returns the kind of a program that loads code from other files, or "" for a
// program that consists of its own file.
func runtimeOf(stem string) string {
	switch stem {
	case "node", "nodejs":
		return "node"
	case "python", "pypy":
		return "python"
	case "npx", "npx-cli.js":
		return "npx"
	case "npm", "npm-cli.js":
		return "npm"
	case "bun", "bunx", "java", "uv", "uvx":
		return stem
	}
	return ""
}

// baseName returns the file name of a program without its version: python3.11 is python.
func baseName(file string) string { return strings.TrimRight(filepath.Base(file), "0123456789.-") }

func (s *scanner) addProgram() (kinds []string) {
	parts := slices.Clone(s.profile.Parts)
	if !slices.ContainsFunc(parts, func(p policy.Part) bool { return p.Path == s.profile.Program }) {
		parts = append(parts, policy.Part{Path: s.profile.Program})
	}
	kind := func(file string) {
		if slices.Contains(opaque, baseName(file)) {
			s.fail("%s runs code from an unknown place", file)
		}
		if k := runtimeOf(baseName(file)); k != "" && !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	if len(s.profile.Argv) > 0 {
		kind(s.profile.Argv[0])
	}
	var scripts []string
	for _, part := range parts {
		switch fi, ok := s.addFile(part.Path); {
		case !ok:
			s.fail("%s no longer exists", part.Path)
		case !fi.IsDir():
			kind(part.Path)
			scripts = append(scripts, part.Path)
		case exists(filepath.Join(part.Path, "pyvenv.cfg")):
			s.addPythonEnv(part.Path)
		case part.Work:
			s.addTree(part.Path)
		}
	}
	for _, file := range scripts {
		if runtimeOf(baseName(file)) == "python" {
			s.addPythonEnv(filepath.Dir(filepath.Dir(file)))
		}
		if s.isScript(file) && !strings.Contains(file, "/node_modules/npm/") {
			s.addPackageOf(file)
		}
	}
	return kinds
}

// codeSuffixes are the suffixes of files that load the files around them.
var codeSuffixes = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx", ".py", ".pyz", ".jar"}

// isScript reports whether a file is code that loads the files around it.
func (s *scanner) isScript(file string) bool {
	if slices.Contains(codeSuffixes, filepath.Ext(file)) {
		return true
	}
	text, err := s.readFile(file)
	return err == nil && strings.HasPrefix(string(text), "#!")
}

// addPackageOf digests the package that a file belongs to, and each node_modules that the
// file can import from. It stops below the home directory.
func (s *scanner) addPackageOf(file string) {
	if i := strings.LastIndex(file, "/node_modules/"); i >= 0 {
		modules := file[:i+len("/node_modules")]
		parts := strings.SplitN(file[len(modules)+1:], "/", 3)
		n := 1
		if strings.HasPrefix(parts[0], "@") {
			n = 2
		}
		if len(parts) > n {
			s.addTree(filepath.Join(modules, filepath.Join(parts[:n]...)))
		}
		s.addHoistedModules(filepath.Dir(file))
		return
	}
	if root := s.packageRoot(filepath.Dir(file)); root != "" {
		s.addTree(root)
	}
	s.addHoistedModules(filepath.Dir(file))
}

// parents returns a directory and its parents, without the home directory, the root, and the
// directories above them. It returns at most 32.
func (s *scanner) parents(dir string) (dirs []string) {
	for ; len(dirs) < 32 && dir != filepath.Dir(dir) && !policy.Within(s.profile.Home, dir); dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	return dirs
}

func (s *scanner) packageRoot(dir string) string {
	for _, d := range s.parents(dir) {
		if exists(filepath.Join(d, "pyproject.toml")) || exists(filepath.Join(d, "setup.py")) {
			return d
		}
		// A package.json without a name only configures the files beside it.
		if text, err := s.readFile(filepath.Join(d, "package.json")); err == nil && strings.Contains(string(text), `"name"`) {
			return d
		}
	}
	return ""
}

func (s *scanner) addHoistedModules(dir string) {
	for _, d := range s.parents(dir) {
		if filepath.Base(d) == "node_modules" {
			s.addNodeModules(d)
		} else {
			s.addNodeModules(filepath.Join(d, "node_modules"))
		}
	}
}
