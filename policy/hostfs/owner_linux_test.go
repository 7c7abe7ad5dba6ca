package hostfs

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestUnmapped asks in user namespaces, one inside the other, whether the root of the host is one of
// the unknown users. Outside it is not, and neither for a number that is no unknown user's.
func TestUnmapped(t *testing.T) {
	const unknown = 65534
	if depth := os.Getenv("UNMAPPED_DEPTH"); depth != "" {
		if !isUnmapped(unknown) || isUnmapped(unknown-1) {
			t.Errorf("%s namespaces deep, the root of the host counts as known", depth)
		}
		if depth == "2" {
			return
		}
	} else if isUnmapped(unknown) {
		t.Error("outside, the root of the host counts as unknown")
	}
	deeper := exec.Command("/proc/self/exe", "-test.run=^TestUnmapped$")
	deeper.Env = append(os.Environ(), "UNMAPPED_DEPTH="+map[string]string{"": "1", "1": "2"}[os.Getenv("UNMAPPED_DEPTH")])
	inside := 0
	if os.Getenv("UNMAPPED_DEPTH") == "1" {
		inside = 1000 // as bwrap does: the root of the namespace around it is the user
	}
	outside := os.Getuid()
	if outside == 0 && os.Getenv("UNMAPPED_DEPTH") == "" {
		outside = 1000 // the root of the host stays outside
	}
	deeper.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER, Credential: &syscall.Credential{Uid: uint32(inside), NoSetGroups: true},
		UidMappings: []syscall.SysProcIDMap{{ContainerID: inside, HostID: outside, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := deeper.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS") {
		t.Fatalf("%v\n%s", err, out)
	}
}
