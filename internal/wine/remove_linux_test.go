package wine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// removeAtEnd starts the process that removes everything when the tests have ended.
func (h *host) removeAtEnd() error {
	cmd := testkit.Self(remover)
	cmd.Env = append(os.Environ(), dirVariable+"="+h.dir)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // what ends the tests does not end it
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	h.stop, h.gone = stdin, cmd
	return cmd.Start()
}

// end removes everything.
func (h *host) end() error {
	if h.gone == nil {
		return nil
	}
	h.stop.Close()
	return h.gone.Wait()
}

// remove ends the processes of a run, and removes its directory.
func remove(dir string, root bool) error {
	prefix := filepath.Join(dir, "prefix")
	uid := os.Getuid()
	if info, err := os.Stat(prefix); err == nil {
		uid = int(info.Sys().(*syscall.Stat_t).Uid)
	}
	server := exec.Command(filepath.Join(filepath.Dir(loader()), "wineserver"), "-k")
	server.Env = []string{"WINEPREFIX=" + prefix, "TMPDIR=" + filepath.Join(dir, "tmp"), "PATH=/usr/bin:/bin"}
	if root {
		server.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	server.Run() // it fails if there is none
	for end := time.Now().Add(testkit.Patience); ; time.Sleep(10 * time.Millisecond) {
		left := processes(func(pid int, environment []byte) bool {
			return bytes.Contains(environment, []byte("WINEPREFIX="+prefix+"\x00")) || root && owner(pid) == uid
		})
		if len(left) == 0 {
			return os.RemoveAll(dir)
		}
		for _, pid := range left {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		if time.Now().After(end) {
			return errors.Join(fmt.Errorf("the processes %v do not end", left), os.RemoveAll(dir))
		}
	}
}

// processes returns the processes that run, but for this one, for which a test holds.
func processes(holds func(pid int, environment []byte) bool) (found []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		stat, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if _, after, ok := bytes.Cut(stat, []byte(") ")); !ok || after[0] == 'Z' {
			continue
		}
		environment, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if holds(pid, environment) {
			found = append(found, pid)
		}
	}
	return found
}

func owner(pid int) int {
	info, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid)))
	if err != nil {
		return -1
	}
	return int(info.Sys().(*syscall.Stat_t).Uid)
}

// arguments returns the command line of a process, with blanks between its words.
func arguments(pid int) string {
	words, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return string(bytes.ReplaceAll(bytes.TrimRight(words, "\x00 "), []byte{0}, []byte{' '}))
}
