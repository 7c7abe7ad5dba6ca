package hostfs

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestUnmapped asks in user namespaces, one inside the other, whether the root of the host is one of
// the unknown users. Outside it is not, and neither for a number that is no unknown user's.
func TestUnmapped(t *testing.T) {
	const unknown = 65534
	if depth := os.Getenv("UNMAPPED_DEPTH"); depth != "" {
		if !isUnmapped(unknown) || isUnmapped(unknown-1) {
			t.Errorf("%s namespaces deep, the root of the host counts as known", depth)
		}
		own := os.Getuid()
		if !isMapped(own) || isMapped(own-1) || isMapped(own+1) || OwnerHost().SelfUnmapped {
			t.Errorf("%s namespaces deep, the user %d counts as unknown, or another as known", depth, own)
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

// TestSelfUnmapped: in a user namespace without a map the user has the number of all unknown users. In a
// container, a map can give this number to the user nobody.
func TestSelfUnmapped(t *testing.T) {
	if want := os.Getenv("SELF_UNMAPPED"); want != "" {
		if got := OwnerHost().SelfUnmapped; got != (want == "true") || os.Getuid() != 65534 {
			t.Errorf("the user %d counts as unknown: %v, want %s", os.Getuid(), got, want)
		}
		return
	}
	if OwnerHost().SelfUnmapped {
		t.Error("outside, the user counts as unknown")
	}
	outside := os.Getuid()
	if outside == 0 {
		outside = 1000 // the root of the host stays outside
	}
	for want, attr := range map[string]*syscall.SysProcAttr{
		"true": {},
		"false": {Credential: &syscall.Credential{Uid: 65534, NoSetGroups: true}, UidMappings: []syscall.SysProcIDMap{{ContainerID: 65534, HostID: outside, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}},
	} {
		inside := exec.Command("/proc/self/exe", "-test.run=^TestSelfUnmapped$")
		inside.Env, inside.SysProcAttr = append(os.Environ(), "SELF_UNMAPPED="+want), attr
		attr.Cloneflags = syscall.CLONE_NEWUSER
		if out, err := inside.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
			t.Errorf("%s: %v\n%s", want, err, out)
		}
	}
}

// TestUnmappedWithoutProc: a sandbox may have no /proc, or another file over one of it. The unknown
// owner is still known as such, and as none where the user namespace knows root.
func TestUnmappedWithoutProc(t *testing.T) {
	const unknown = 65534
	if want := os.Getenv("UNMAPPED_WANT"); want != "" {
		err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		testkit.Must(t, errors.Join(err, unix.Mount("none", "/proc", "tmpfs", 0, "")))
		if _, err := os.Stat("/proc/version"); err == nil {
			t.Fatal("there is a /proc")
		}
		if got := isUnmapped(unknown); got != (want == "true") || isUnmapped(0) || isUnmapped(unknown-1) {
			t.Errorf("the root of the host is unknown: %v, want %s", got, want)
		}
		return
	}
	for want, uid := range map[string]int{"true": 1000, "false": os.Getuid()} {
		if os.Getuid() != 0 && want == "false" {
			continue // only root can map root
		} else if os.Getuid() != 0 {
			uid = os.Getuid()
		}
		inside := exec.Command("/proc/self/exe", "-test.run=^TestUnmappedWithoutProc$")
		inside.Env = append(os.Environ(), "UNMAPPED_WANT="+want)
		inside.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, Credential: &syscall.Credential{NoSetGroups: true},
			UidMappings: []syscall.SysProcIDMap{{HostID: uid, Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		}
		if out, err := inside.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
			t.Errorf("%s: %v\n%s", want, err, out)
		}
	}
}
