package integration

import (
	"fmt"
	"os"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

// TestJailHostDevices: a device of the host that a rule grants has the rights of the rule, also
// a terminal of the user. /dev/shm stays the jail's own.
func TestJailHostDevices(t *testing.T) {
	jailtest.Needs(t)
	master := testkit.Get(os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0))(t)
	defer master.Close()
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	testkit.Must(t, err)
	terminal := fmt.Sprintf("/dev/pts/%d", n)
	tries := []attacker.Attempt{attacker.Try("write", terminal), attacker.Try("write", "/dev/null"), attacker.Try("create", "/dev/shm/mcp-jail-test")}
	for _, c := range []struct {
		grant jailtest.Grant
		want  string
	}{
		{jailtest.Grant{Path: "/dev", Rights: r}, "[EACCES ok ok]"},
		{jailtest.Grant{Path: "/dev/pts", Rights: r}, "[EACCES ok ok]"},
		{jailtest.Grant{Path: "/dev", Rights: r | u}, "[ok ok ok]"},
	} {
		if got := jailtest.Attempts(t, jailtest.Profile(t, c.grant), tries...); fmt.Sprint(got) != c.want {
			t.Errorf("%s of %s: %v, want %s", c.grant.Rights, c.grant.Path, got, c.want)
		}
	}
	if _, err := os.Stat("/dev/shm/mcp-jail-test"); err == nil {
		os.Remove("/dev/shm/mcp-jail-test")
		t.Error("a file was made in the host's /dev/shm")
	}
}

// TestJailDeviceCommands: a granted device takes the commands of its own driver. That opens no
// filesystem's commands, and no other descriptor's.
func TestJailDeviceCommands(t *testing.T) {
	jailtest.Needs(t)
	if os.Getuid() != 0 {
		testkit.Skip(t, "root", "others may not open the devices that take commands")
	}
	const version, removeKey = "44544", "3225445912" // KVM_GET_API_VERSION, FS_IOC_REMOVE_ENCRYPTION_KEY
	tries := []attacker.Attempt{attacker.Try("command", "/dev/kvm", version), attacker.Try("command", "/dev/kvm", removeKey), attacker.Try("command", "/dev/zero", version)}
	if got := jailtest.Unconfined(t, "/", tries[0]); fmt.Sprint(got) != "[ok]" {
		t.Logf("this host has no device whose command takes no argument: %v", got)
		return
	}
	for _, c := range []struct {
		grant jailtest.Grant
		want  string
	}{
		{jailtest.Grant{Path: "/dev/kvm", Rights: r | u}, "[ok ENOTTY ENOTTY]"},
		{jailtest.Grant{Path: "/dev/vsock", Rights: r | u}, "[ENOENT ENOENT ENOTTY]"},
		{jailtest.Grant{Path: "/dev", Rights: r}, "[ok ENOTTY ENOTTY]"},
	} {
		if _, err := os.Stat(c.grant.Path); err != nil {
			continue
		}
		if got := jailtest.Attempts(t, jailtest.Profile(t, c.grant), tries...); fmt.Sprint(got) != c.want {
			t.Errorf("%s of %s: %v, want %s", c.grant.Rights, c.grant.Path, got, c.want)
		}
	}
}
