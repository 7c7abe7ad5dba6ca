//go:build !seatbelt

package confine

import (
	"slices"
	"sync"

	"github.com/mcp-jail/mcp-jail/confine/internal/cgroup"
	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// PreparedPool has supervisor processes for later starts: each is in new namespaces and
// waits for a plan. A start takes its process for good, so none was ever part of another jail.
//
// A process has the mounts that the host had when it was started. When they change, all processes are
// dropped. The methods may be called on nil, which never has any.
type PreparedPool struct {
	launcher Launcher
	mounts   int // a descriptor of /proc/self/mountinfo, which only mountsChanged polls: a poll resets it
	ends     sync.WaitGroup

	mu     sync.Mutex
	ready  []*Prepared
	closed bool // no process is started any more
}

// NewPool returns a pool for starts by this launcher. It is empty before Keep. NewPool returns nil
// where waiting processes would cost too much, or save nothing: on small hosts, and where a
// service manager must make the cgroup of a jail before its second process.
func (l Launcher) NewPool() *PreparedPool {
	if features.IsSmallHost() || cgroup.Locate().Manager != "" {
		return nil
	}
	return l.newPool()
}

func (l Launcher) newPool() *PreparedPool {
	mounts, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	l.Prepared, l.Pool = nil, nil
	return &PreparedPool{launcher: l, mounts: mounts}
}

// Keep starts processes until there are n, and ends those that are more or out of date. It does not wait.
func (s *PreparedPool) Keep(n int) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.drop()
	for len(s.ready) > n {
		s.end(s.ready[n])
		s.ready = slices.Delete(s.ready, n, n+1)
	}
	for !s.closed && len(s.ready) < n {
		s.ready = append(s.ready, s.launcher.spawn(kindNamespaced))
	}
}

// Close ends all processes and waits for their ends.
func (s *PreparedPool) Close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.close()
	s.mu.Unlock()
	s.ends.Wait()
}

func (s *PreparedPool) close() {
	for _, p := range s.ready {
		s.end(p)
	}
	s.ready, s.closed = nil, true
	unix.Close(s.mounts)
	s.mounts = -1
}

func (s *PreparedPool) end(p *Prepared) { s.ends.Go(p.Close) }

// take returns a process that the caller has claimed, or nil.
func (s *PreparedPool) take() *Prepared {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.drop()
	if len(s.ready) == 0 {
		return nil
	}
	oldest := s.ready[0]
	s.ready = slices.Delete(s.ready, 0, 1)
	return oldest.claim(kindNamespaced)
}

// drop ends all processes if the mounts of the host have changed. If one has ended by itself, none is started
// any more: this host has no namespaces, or no room.
func (s *PreparedPool) drop() {
	if s.mountsChanged() {
		for _, p := range s.ready {
			s.end(p)
		}
		s.ready = nil
	}
	if slices.ContainsFunc(s.ready, (*Prepared).isGone) {
		s.close()
	}
}

// isGone reports whether the process could not be started or has ended.
func (p *Prepared) isGone() bool {
	p.process.mu.Lock()
	defer p.process.mu.Unlock()
	return isClosed(p.process.done) || p.process.pidfd >= 0 && sys.WaitReadable(p.process.pidfd, 0)
}

// mountsChanged reports whether the mounts have changed since its last call (proc_pid_mountinfo(5)).
func (s *PreparedPool) mountsChanged() bool {
	fds := []unix.PollFd{{Fd: int32(s.mounts), Events: unix.POLLPRI}}
	n, err := unix.Poll(fds, 0)
	return n != 0 || err != nil
}
