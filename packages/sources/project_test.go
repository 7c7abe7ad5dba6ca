package sources

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestCheckProject tests for which packages a project's .npmrc names another registry than the user does. The home
// directory is no project.
func TestCheckProject(t *testing.T) {
	for _, row := range testkit.Rows(t, "projects.txt", 5) {
		file, text, name, user, want := row[0], row[1], row[2], row[3], row[4]
		home := t.TempDir()
		testkit.Must(t, errors.Join(os.MkdirAll(filepath.Join(home, "p/sub"), 0o700), os.Mkdir(filepath.Join(home, "etc"), 0o700)))
		if text == "large" {
			text = strings.Repeat("#\n", maxText/2) + "registry=https://r.test\n"
		}
		testkit.WriteFile(t, filepath.Join(home, filepath.FromSlash(file)), text)
		testkit.WriteFile(t, filepath.Join(home, ".npmrc"), user)
		testkit.WriteFile(t, filepath.Join(home, "etc/npmrc"), "@global:registry=https://global.test\n")
		host := testkit.Get(hostfs.LocalHost())(t)
		host.Home, host.Dir, host.Environ = home, filepath.Join(home, "p/sub"), nil
		err := Reader{Host: &host, Prefix: home}.CheckProject(name)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "pw")) {
			t.Errorf("%s with %.80q, %s: %v, want %q", file, text, name, err, want)
		}
	}
}
