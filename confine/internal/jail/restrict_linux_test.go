package jail

import (
	"runtime"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/kernel/kerneltest"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"golang.org/x/sys/unix"
)

// TestLastCapability: if a filter refuses to tell which capability is the last, the start fails.
// Otherwise the server's bounding set might be emptied in part only.
func TestLastCapability(t *testing.T) {
	type answer struct {
		last uintptr
		err  error
	}
	below := func(n uintptr) func(uintptr) error {
		return func(c uintptr) error {
			if c < n {
				return nil
			}
			return unix.EINVAL
		}
	}
	for _, c := range []struct {
		name   string
		exists func(uintptr) error
		want   answer
	}{
		{"today's", below(41), answer{40, nil}},
		{"a newer kernel's", below(50), answer{49, nil}},
		{"all that a set can hold", below(70), answer{63, nil}},
		{"none", below(0), answer{0, unix.EINVAL}},
		{"too few", below(40), answer{0, unix.EINVAL}},
		{"refused", func(uintptr) error { return unix.EPERM }, answer{0, unix.EPERM}},
	} {
		if last, err := lastAccepted(c.exists); (answer{last, err}) != c.want {
			t.Errorf("%s: %d, %v, want %v", c.name, last, err, c.want)
		}
	}
	if last, err := lastCapability(); err != nil || last < unix.CAP_LAST_CAP {
		t.Errorf("of this kernel: %d, %v", last, err)
	}
}

// TestFreshKeyring: the server's session keyring is not its user's. The filter also refuses the
// calls for it.
func TestFreshKeyring(t *testing.T) {
	kerneltest.Needs(t, "seccomp")
	var ids [3]int
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and the thread ends with it
		var err error
		for i := range ids {
			if i == 2 && err == nil {
				err = FreshKeyring(&stub.Task{})
			}
			if err == nil {
				ids[i], err = sessionKeyring()
			}
		}
		done <- err
	}()
	err := <-done
	if err == unix.EPERM || err == unix.ENOSYS {
		t.Logf("there is a filter around us: %v", err)
		return
	}
	if err != nil || ids[0] != ids[1] || ids[1] == ids[2] {
		t.Errorf("%v, %v: the first two are to be one keyring, and the last another", ids, err)
	}
}

func sessionKeyring() (int, error) {
	return unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true)
}
