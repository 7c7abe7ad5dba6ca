package confine

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestStatusOf: a thread's numbers are those that it has in the jail, however many groups
// are listed before them.
func TestStatusOf(t *testing.T) {
	st, errno := statusOf(unix.Gettid(), 0)
	if errno != 0 || st.tgid != os.Getpid() || st.tid != unix.Gettid() {
		t.Errorf("this thread: %+v, %v", st, nilIfZero(errno))
	}
	if _, errno := statusOf(-1, 0); errno != unix.ESRCH {
		t.Errorf("no thread: %v", nilIfZero(errno))
	}
	if os.Getuid() != 0 {
		t.Skip("groups and namespaces are root's to give")
	}
	groups := make([]uint32, 1000)
	for i := range groups {
		groups[i] = uint32(1e9 + i)
	}
	cmd := exec.Command("sleep", "100")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID, Credential: &syscall.Credential{Groups: groups}, Pdeathsig: syscall.SIGKILL,
	}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	pid := cmd.Process.Pid
	for depth, want := range []int{pid, 1, 1} {
		if st, errno := statusOf(pid, depth); errno != 0 || st.tgid != want || st.tid != want || st.umask < 0 {
			t.Errorf("at depth %d: %+v, %v, want %d", depth, st, nilIfZero(errno), want)
		}
	}
}
