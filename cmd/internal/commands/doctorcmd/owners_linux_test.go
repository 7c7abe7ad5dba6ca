package doctorcmd

import (
	"os"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestOwners: a file of another user in a directory of mcp-jail's own is named, as after sudo.
func TestOwners(t *testing.T) {
	home := t.TempDir()
	for name, value := range map[string]string{"HOME": home, "XDG_STATE_HOME": "", "XDG_CACHE_HOME": "", "XDG_DATA_HOME": ""} {
		t.Setenv(name, value)
	}
	host, err := hostfs.LocalHost()
	testkit.Must(t, err)
	if all := checkOwners(host); all != nil {
		t.Errorf("without the directories: %+v", all)
	}
	packages := home + "/.local/share/mcp-jail/packages"
	testkit.Must(t, os.MkdirAll(packages+"/npm/deep", 0o700))
	if all := checkOwners(host); all != nil {
		t.Errorf("the user's own: %+v", all)
	}
	if os.Getuid() != 0 {
		t.Skip("only root gives a file to another user")
	}
	testkit.Must(t, os.Chown(packages+"/npm", 12345, 12345))
	all := checkOwners(host)
	if len(all) != 1 || !all[0].Stops || all[0].File != packages+"/npm" || all[0].What != "~/.local/share/mcp-jail/packages/npm belongs to another user" {
		t.Errorf("of another user: %+v", all)
	}
	if all = checkOwners(hostfs.Host{UID: -1, DataDir: host.DataDir}); all != nil {
		t.Errorf("where users have no numbers: %+v", all)
	}
}
