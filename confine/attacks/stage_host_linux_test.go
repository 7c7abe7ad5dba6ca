package attacks

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// A suite holds the objects of the host that all attempts of one run share: processes, sockets,
// queues and keys.
type suite struct {
	words map[string]string // the words of forms for these objects
	still *stage            // for attempts that touch no file of a stage
	known map[string]bool   // forms whose walls have been tried
	abi   int               // of Landlock here
}

// leftOpen is the first number of the descriptors that a careless launcher leaves open.
const leftOpen = 700

func newSuite(t *testing.T) *suite {
	s := &suite{words: map[string]string{}, known: map[string]bool{}, abi: kernel.Detect().LandlockABI}
	s.host(t)
	s.queues(t)
	s.network(t)
	s.leaks(t)
	s.still = newStage(t, s)
	return s
}

// host starts a process that the attempts aim at.
func (s *suite) host(t *testing.T) {
	cmd := exec.Command(jailtest.Binary)
	cmd.Args = []string{attacker.Name, `[["wait"]]`}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = out.Read(make([]byte, 8))
	}
	testkit.Must(t, err)
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	s.words["PID"] = fmt.Sprint(cmd.Process.Pid)

	s.words["SETID"] = filepath.Join(filepath.Dir(jailtest.Binary), setIDName)
	s.words["CAPFILE"] = filepath.Join(filepath.Dir(jailtest.Binary), capabilityName)
}

// queues makes System V objects, a POSIX queue and a key, which belong to no path.
func (s *suite) queues(t *testing.T) {
	key := 0x6d640000 + os.Getpid()
	s.words["IPCKEY"] = fmt.Sprint(key)
	shm := testkit.Get(unix.SysvShmGet(key, 4096, unix.IPC_CREAT|unix.IPC_EXCL|0o600))(t)
	t.Cleanup(func() { unix.SysvShmCtl(shm, unix.IPC_RMID, nil) })
	s.words["SHMID"] = fmt.Sprint(shm)
	make := func(what string, get, ctl uintptr, args ...uintptr) {
		id, _, errno := unix.Syscall(get, args[0], args[1], args[2])
		testkit.MustEqual(t, what, errno, 0)
		t.Cleanup(func() { attacker.RawCall(ctl, id, 0, unix.IPC_RMID); attacker.RawCall(ctl, id, unix.IPC_RMID) })
	}
	make("semget", unix.SYS_SEMGET, unix.SYS_SEMCTL, uintptr(key), 1, unix.IPC_CREAT|unix.IPC_EXCL|0o600)
	make("msgget", unix.SYS_MSGGET, unix.SYS_MSGCTL, uintptr(key), unix.IPC_CREAT|unix.IPC_EXCL|0o600, 0)
	s.words["QUEUE"] = fmt.Sprint("mcp-jail-attack-", os.Getpid())
	jailtest.MakeQueue(t, s.words["QUEUE"])
	s.words["KEYNAME"] = fmt.Sprint("mcp-jail-attack-", os.Getpid())
	id, err := unix.AddKey("user", s.words["KEYNAME"], []byte("secret"), unix.KEY_SPEC_USER_KEYRING)
	if err != nil {
		t.Logf("no key can be made here: %v", err)
		return
	}
	t.Cleanup(func() { unix.KeyctlInt(unix.KEYCTL_UNLINK, id, unix.KEY_SPEC_USER_KEYRING, 0, 0) })
}

// leaks opens descriptors without close-on-exec and puts a secret into the environment.
func (s *suite) leaks(t *testing.T) {
	keep := func(word string, fd int, err error) {
		testkit.Must(t, err)
		kept, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD, leftOpen)
		unix.Close(fd)
		testkit.Must(t, err)
		t.Cleanup(func() { unix.Close(kept) })
		s.words[word] = fmt.Sprint(kept)
	}
	dir := testkit.Plant(t, "secret")
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	keep("DIRFD", fd, err)
	fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	keep("SOCKETFD", fd, err)
	fd, err = unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err == nil {
		n, nerr := unix.IoctlGetInt(fd, unix.TIOCGPTN)
		if nerr == nil {
			nerr = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
		}
		if nerr != nil {
			t.Fatal(nerr)
		}
		s.words["TERMINAL"] = fmt.Sprint("/dev/pts/", n)
	}
	keep("TTYFD", fd, err)
	t.Setenv("MCPJAIL_ATTACK_TOKEN", "must not be seen")
}
