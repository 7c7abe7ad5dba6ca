package house_test

import (
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// openingCalls open files by their names, or change what has a name.
var openingCalls = map[string][]string{
	"os": {
		"Open", "OpenFile", "OpenRoot", "OpenInRoot", "Create", "CreateTemp", "ReadFile", "ReadDir", "WriteFile", "DirFS", "CopyFS",
		"Mkdir", "MkdirAll", "MkdirTemp", "Remove", "RemoveAll", "Rename", "Link", "Symlink", "Chmod", "Chown", "Lchown", "Chtimes", "Truncate",
	},
	"io/ioutil":             {"ReadFile", "ReadDir", "WriteFile", "TempFile", "TempDir"},
	"path/filepath":         {"Glob", "Walk", "WalkDir"},
	"syscall":               openingSystemCalls,
	"golang.org/x/sys/unix": openingSystemCalls,
}

var openingSystemCalls = []string{
	"Open", "Openat", "Openat2", "Creat", "Mkdir", "Mkdirat", "Mknod", "Mknodat", "Mkfifo", "Mkfifoat", "Rmdir", "Unlink", "Unlinkat", "Rename", "Renameat", "Renameat2",
	"Link", "Linkat", "Symlink", "Symlinkat", "Chmod", "Fchmodat", "Chown", "Lchown", "Fchownat", "Utimes", "UtimesNano", "UtimesNanoAt", "Truncate",
}

// Reasons why a file may open files without package private: none of these files is mcp-jail's own.
const (
	theDoor     = "the door itself"
	ofUser      = "files of the user, of a project, or of another program"
	ofSystem    = "the system's files, and devices"
	ofJail      = "what the jail is made of, and what the server names in it"
	ofChanges   = "the places that a server has changed, and puts back"
	ofInstaller = "what an installer left in a stage, which package store has opened and locked"
	ofPackage   = "the files of a tree that package store has opened, which are compared with their seal"
	inHome      = "a server's HOME, through an os.Root, and the names in a directory that a rule grants"
	inTemp      = "a temporary file that has a name for a moment, or a directory that is removed"
	ofHome      = "the user's HOME, from which data of a package is copied, through an os.Root"
)

// openFiles are the files and packages that may open files without package private. Package private
// opens all that is mcp-jail's own.
var openFiles = map[string]string{
	"internal/private/dir.go": theDoor,

	"internal/homelinks": inHome,

	"clients/ownfile/file.go": ofUser, "clients/ownfile/replace.go": ofUser, "clients/ownfile/system_unix.go": ofUser,
	"policy/config/load.go":          ofUser,
	"cmd/internal/commands/learncmd": ofUser, "cmd/internal/windows": ofUser, "cmd/internal/wrapping/existing.go": ofUser, "cmd/internal/commands/grantcmd/show.go": ofUser, "cmd/internal/updates": ofUser, "cmd/mcp-jail/log.go": ofUser,
	"cmd/internal/commands/doctorcmd/servers.go": ofUser, "cmd/internal/commands/index/program.go": ofUser,
	"packages/install/npmprogram.go":  ofUser,
	"cmd/internal/session/earlier.go": ofHome,

	"cmd/internal/handshake/trial.go": ofSystem, "policy/hostfs/ancestor_linux.go": ofSystem, "policy/hostfs/owner_unix.go": ofSystem, "policy/hostfs/pseudofs_linux.go": ofSystem, "policy/hostfs/userns_linux.go": ofSystem,
	"policy/hostfs/glob.go": ofUser, "policy/hostfs/readdir.go": ofUser,

	"confine/fork_linux.go": ofJail, "confine/starter_linux.go": ofJail, "confine/prepared_pool_linux.go": ofJail, "confine/start_linux.go": ofJail, "confine/launcher_windows.go": ofJail,
	"confine/internal/selftest": "files of the self-test, in directories that it makes",
	"confine/internal/cgroup":   ofJail, "confine/internal/gateway": ofJail, "confine/internal/jail": ofJail, "confine/internal/mediate": ofJail,
	"confine/internal/mediate/sockets": ofJail, "confine/internal/mediate/starts": ofJail, "confine/internal/oom": ofSystem, "confine/internal/features": ofSystem,
	"confine/internal/dirs/dirs.go": ofJail, "confine/internal/sandboxexec": ofJail,
	"confine/internal/proc": ofSystem, "confine/internal/stub": ofJail, "confine/internal/supervisor": ofJail,

	"undo/restore_linux.go": ofChanges, "undo/look_linux.go": ofChanges, "undo/store_linux.go": ofChanges,

	"packages/install/collect.go": ofInstaller, "packages/install/fetch_npm.go": ofInstaller, "packages/install/fetch_python.go": ofInstaller,
	"packages/install/fetch_python_source.go": ofInstaller, "packages/install/fetch_python_tree.go": ofInstaller, "packages/install/fetch_python_pip.go": ofInstaller, "packages/install/fetch_python_paths.go": ofInstaller,
	"packages/install/progress.go": ofInstaller, "packages/install/logins.go": ofInstaller, "packages/sources/write.go": ofInstaller, "packages/install/scripts.go": ofInstaller,
	"packages/installed/node.go": ofPackage, "packages/installed/python.go": ofPackage,

	"mcpproxy/spill.go": inTemp, "packages/jail/version.go": inTemp,
}

// opensOf returns what a file of the product uses to open files; src replaces its content.
func opensOf(t *testing.T, name string, src any) []string {
	t.Helper()
	if dir := path.Dir(name); strings.HasPrefix(dir, "internal/testkit") || dir == "confine/egress/egresstest" {
		return nil // for tests
	}
	return usesOf(t, name, src, openingCalls)
}

// mayOpen returns the entry of openFiles that a file has, or "".
func mayOpen(name string) string {
	for _, entry := range []string{name, path.Dir(name)} {
		if openFiles[entry] != "" {
			return entry
		}
	}
	return ""
}

// TestOwnFiles tests that package private alone opens mcp-jail's own files: any other file of the
// product that opens files is on the list, with the reason why they are not mcp-jail's own.
func TestOwnFiles(t *testing.T) {
	unused := maps.Clone(openFiles)
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "bin"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		name = filepath.ToSlash(name)
		if found := opensOf(t, name, nil); found != nil {
			entry := mayOpen(name)
			if entry == "" {
				t.Errorf("%s opens files (%s): open mcp-jail's own with package private, and put the file on the list if they are not mcp-jail's own", name, strings.Join(found, ", "))
			}
			delete(unused, entry)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for entry := range unused {
		t.Errorf("%s is on the list of those that open files, and opens none", entry)
	}
}

// TestOpensOf shows that an opened file is found, however it is written, and that a place in the list
// is for that file or package alone.
func TestOpensOf(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"policy/a.go", "import \"os\"\nvar f, _ = os.Open(\"x\")", "os.Open"},
		{"policy/b_darwin.go", "import files \"os\"\nvar open = files.OpenFile", "files.OpenFile"},
		{"policy/c.go", "import . \"os\"\nvar f, _ = Open(\"x\")", "all of os"},
		{"policy/d.go", "import \"golang.org/x/sys/unix\"\nfunc f() { unix.Renameat(0, \"\", 0, \"\") }", "unix.Renameat"},
		{"policy/e.go", "import \"syscall\"\nfunc f() { syscall.Unlink(\"x\") }", "syscall.Unlink"},
		{"policy/f.go", "import \"path/filepath\"\nvar all, _ = filepath.Glob(\"*\")", "filepath.Glob"},
		{"policy/g.go", "import \"os\"\nvar _, err = os.Lstat(\"x\")", ""},
		{"bench/h.go", "import \"os\"\nvar f, _ = os.Open(\"x\")", ""},
	} {
		if got := strings.Join(opensOf(t, c.name, "package x\n"+c.src), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	for name, want := range map[string]string{
		"undo/restore_linux.go": "undo/restore_linux.go", "undo/session.go": "", "confine/internal/proc/new.go": "confine/internal/proc", "confine/internal/new/x.go": "",
	} {
		if got := mayOpen(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
