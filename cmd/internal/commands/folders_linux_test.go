package commands

import (
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestFolders: what mcp-jail cannot use of its own folders is named: a file of another user, as after sudo.
func TestFolders(t *testing.T) {
	home := t.TempDir()
	for name, value := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "XDG_CACHE_HOME": "", "XDG_DATA_HOME": ""} {
		t.Setenv(name, value)
	}
	host, err := hostfs.LocalHost()
	testkit.Must(t, err)
	said := func(when, want string) {
		t.Helper()
		all := folderChecks(host)
		if text := all[0].mark + " " + all[0].text; len(all) != 1 || !strings.HasPrefix(text, want) {
			t.Errorf("%s: %+v", when, all)
		}
	}
	said("without the folders", "ok mcp-jail can write to its own folders (")
	packages := home + "/.local/share/mcp-jail/packages"
	testkit.Must(t, os.MkdirAll(packages+"/npm/deep", 0o700))
	said("the user's own", "ok ")
	if os.Getuid() != 0 {
		testkit.Must(t, os.Mkdir(home+"/.config", 0o500))
		said("read-only", "FAIL mcp-jail cannot write to "+home+"/.config/mcp-jail: permission denied")
		return // only root gives a file to another user
	}
	testkit.Must(t, os.Chown(packages+"/npm", 12345, 12345))
	said("of another user", "FAIL "+packages+"/npm belongs to another user")
	host.UID = -1
	said("where users have no numbers", "ok ")
}
