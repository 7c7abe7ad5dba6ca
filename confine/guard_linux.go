package confine

import (
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// guardThreads keeps the server from slowing down the threads of its init, above
// all the one that watches over the limits: same user, and in a PID namespace of
// its own the filter lets scheduling calls pass. The server's own numbers are
// higher than those that are taken now.
func (s *shim) guardThreads() error {
	s.await(&s.spare)
	if !s.order.FreshProc {
		return nil // nothing is watched
	}
	last, err := lastPID()
	if err != nil {
		return err
	}
	arch, _ := archOf(runtime.GOARCH)
	filter, err := compileGuard(arch, last)
	if err != nil {
		return err
	}
	_, err = applySeccomp(filterRecords(filter), unix.SECCOMP_FILTER_FLAG_TSYNC)
	return err
}

// lastPID is the number that was given last in this PID namespace: the fifth word of
// /proc/loadavg (proc_loadavg(5)). Reading that is cheaper than listing the threads.
func lastPID() (uint32, error) {
	const file = "/proc/loadavg"
	words := strings.Fields(procLine(file))
	if len(words) != 5 {
		return 0, on(file, unix.ENODATA)
	}
	last, err := strconv.ParseUint(words[4], 10, 32)
	if err != nil || last == 0 {
		return 0, on(file, unix.ERANGE)
	}
	return uint32(last), nil
}
