package hostfs

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestOwnerOfFile: a file that this process makes is the user's own. One whose owner is everyone is
// refused by name, wherever Windows lets this process give it away.
func TestOwnerOfFile(t *testing.T) {
	f, err := os.CreateTemp("", "owner") // a TempDir is removed by a call that Wine 8 does not have
	testkit.Must(t, err)
	f.Close()
	file := f.Name()
	defer os.Remove(file)
	if checkAccount(file) != nil {
		t.Error(checkAccount(file))
	}
	if err := checkAccount(file + ".none"); err == nil {
		t.Error("a file that does not exist has an owner")
	}
	everyone, err := windows.CreateWellKnownSid(windows.WinWorldSid)
	testkit.Must(t, err)
	if err := windows.SetNamedSecurityInfo(file, windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION, everyone, nil, nil, nil); err != nil {
		t.Log("only an administrator can give a file away:", err)
		return
	}
	var owner *OwnerError
	if err := checkAccount(file); !errors.As(err, &owner) {
		t.Errorf("a file of everyone: %v", err)
	}
}
