package attacker

import (
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mostSwarm bounds the children of a swarm at a time, and mostForks those in all: a swarm also
// runs without a jail.
const mostSwarm, mostForks = 60, 20000

// attemptSwarm keeps a[0] children alive for a[2] seconds. Each uses a[1] MB. With "busy" each
// keeps a processor busy in a session of its own, to which the scheduler gives as much time as to
// the session of the supervisor.
func attemptSwarm(a []string) (string, error) {
	most, mb, busy := min(Number(a[0]), mostSwarm), Number(a[1]), len(a) > 3 && a[3] == "busy"
	until := time.Now().Add(time.Duration(Number(a[2])) * time.Second)
	b := get(unix.Mmap(-1, 0, mb<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON))
	alive := map[int]bool{}
	for forks := 0; time.Now().Before(until) && forks < mostForks; {
		for len(alive) < most {
			pid, errno := forkToucher(b, busy)
			if errno != 0 {
				break
			}
			alive[pid] = true
			forks++
		}
		for {
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if err != nil || pid == 0 {
				break
			}
			delete(alive, pid)
		}
		time.Sleep(time.Millisecond)
	}
	for pid := range alive {
		unix.Kill(pid, unix.SIGKILL)
	}
	return "", nil
}

func forkToucher(b []byte, busy bool) (int, syscall.Errno) {
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		return int(pid), errno
	}
	// Nothing of the runtime works here.
	syscall.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0)
	if busy {
		syscall.RawSyscall(unix.SYS_SETSID, 0, 0, 0)
	}
	for i := 0; i < len(b); i += 4096 {
		*(*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), i)) = 1
	}
	for {
		if !busy {
			syscall.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
		}
	}
}

// attemptGlutton starts children one after the other that each use a[1] MB, a[0] of them,
// and says how many were ended.
func attemptGlutton(a []string) (string, error) {
	ended := 0
	b := get(unix.Mmap(-1, 0, Number(a[1])<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON))
	for range Number(a[0]) {
		pid, errno := forkToucher(b, false)
		if errno != 0 {
			return "", errno
		}
		var ws syscall.WaitStatus
		time.AfterFunc(10*time.Second, func() { unix.Kill(pid, unix.SIGTERM) })
		for {
			if _, err := syscall.Wait4(pid, &ws, 0, nil); err != syscall.EINTR {
				break
			}
		}
		if ws.Signal() == syscall.SIGKILL {
			ended++
		}
		time.Sleep(time.Second)
	}
	return fmt.Sprint(ended), nil
}
