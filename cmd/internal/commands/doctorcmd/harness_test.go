package doctorcmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// newInstallation makes three empty directories in dir: home is HOME, project is the working
// directory, and bin is PATH. It returns what doctor sees there.
func newInstallation(t *testing.T) (i *installation, dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testkit.Must(t, err)
	testkit.PlantBelow(t, dir, "home/", "project/", "bin/")
	for name, value := range map[string]string{"HOME": dir + "/home", "PATH": dir + "/bin", "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "XDG_CACHE_HOME": "", "XDG_DATA_HOME": "", "GOBIN": "", "GOPATH": "",
		"NVM_DIR": "", "FNM_DIR": "", "VOLTA_HOME": "", "ASDF_DATA_DIR": "", "MISE_DATA_DIR": "", "NODENV_ROOT": "", "N_PREFIX": "", "PYENV_ROOT": "", "UV_PYTHON_INSTALL_DIR": ""} {
		t.Setenv(name, value)
	}
	t.Chdir(dir + "/project")
	host, err := hostfs.LocalHost()
	testkit.Must(t, err)
	self := dir + "/bin/" + programs.Main
	return &installation{host: host, clients: entries.ClientsHost(host), self: self, program: wrapping.Program{Path: self}, root: dir}, dir
}

// find reads the files of clients.
func (i *installation) find(t *testing.T) {
	t.Helper()
	var err error
	i.files, err = wrapping.Find(i.clients, wrapping.Selection{})
	testkit.Must(t, err)
	i.lookStarts()
}

// A tester's binary is a program of this module, whose version is "(devel)".
func ownBinary(t *testing.T) []byte {
	t.Helper()
	self, err := os.Executable()
	testkit.Must(t, err)
	text, err := os.ReadFile(self)
	testkit.Must(t, err)
	return text
}

// asVersion returns a program with another version of seven letters.
func asVersion(t *testing.T, program []byte, version string) []byte {
	t.Helper()
	was := []byte("mod\t" + ourModule + "\t(devel)")
	if !bytes.Contains(program, was) {
		t.Fatal("the test binary does not name its module")
	}
	return bytes.ReplaceAll(program, was, []byte("mod\t"+ourModule+"\t"+version))
}

// texts returns findings, a line for each: ! for one that stops something, what, and what it is about.
func texts(all []finding) string {
	var lines []string
	for _, f := range all {
		line := f.What
		if f.Stops {
			line = "! " + line
		}
		if len(f.Of) > 0 {
			var names []string
			for _, of := range f.Of {
				name, _, _ := strings.Cut(of, " ")
				names = append(names, name)
			}
			line += " [" + strings.Join(names, " ") + "]"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
