package confine

import (
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// guardThreads keeps the server from slowing down the threads of its init, above
// all the one that watches over the limits: same user, and in a PID namespace of
// its own the filter lets scheduling calls pass. The server's own numbers are
// higher than those that are taken now.
func (s *shim) guardThreads() error {
	if !s.order.FreshProc {
		return nil // nothing is watched
	}
	<-s.spare
	last := 0
	for _, name := range namesIn("/proc/self/task") {
		if tid, err := strconv.Atoi(name); err == nil {
			last = max(last, tid)
		}
	}
	if last == 0 {
		return on("/proc/self/task", unix.ENOENT)
	}
	arch, _ := archOf(runtime.GOARCH)
	filter, err := compileGuard(arch, uint32(last))
	if err != nil {
		return err
	}
	_, err = applySeccomp(filterRecords(filter), unix.SECCOMP_FILTER_FLAG_TSYNC)
	return err
}
