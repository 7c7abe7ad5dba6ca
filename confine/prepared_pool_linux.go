package confine

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/policy"
)

// PreparedPool has jails for later starts. Each is built for a profile, and waits for the files of the server.
// A start takes its jail for good, so none was ever part of another start, and no server has run in it.
//
// A jail has the mounts that the host had when it was started. When they change, all jails are dropped.
// The methods may be called on nil, which never has any.
type PreparedPool struct {
	launcher Launcher
	mounts   int // a descriptor of /proc/self/mountinfo, which only mountsChanged polls: a poll resets it
	ends     sync.WaitGroup

	mu     sync.Mutex
	ready  []*spare
	failed *policy.Profile // the last one for which no jail could be built ahead
	closed bool            // no process is started any more
}

// NewPool returns a pool for starts by this launcher. It is empty before Keep. NewPool returns nil
// where waiting processes would cost too much, or save nothing: on small hosts, and where a
// service manager must make the cgroup of a jail before its second process.
func (l Launcher) NewPool() *PreparedPool {
	if kernel.IsSmallHost() || !kernel.LocateCgroup().None() {
		return nil
	}
	return l.newPool()
}

func (l Launcher) newPool() *PreparedPool {
	mounts, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	s := &PreparedPool{launcher: l, mounts: mounts}
	s.launcher.Prepared, s.launcher.Pool = nil, nil
	return s
}

// Keep starts jails until there is one for each of these profiles, of which several may be equal. It ends those
// that are more or out of date. It does not wait.
func (s *PreparedPool) Keep(profiles []*policy.Profile) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.drop()
	var kept []*spare
	var missing []*policy.Profile
	for _, p := range profiles {
		i := slices.IndexFunc(s.ready, func(j *spare) bool { return j.profile.SameJail(p) })
		if i < 0 {
			missing = append(missing, p)
			continue
		}
		kept, s.ready = append(kept, s.ready[i]), slices.Delete(s.ready, i, i+1)
	}
	for _, j := range s.ready {
		s.end(j)
	}
	s.ready = kept
	for _, p := range missing {
		if s.closed {
			break
		}
		if j := s.prepare(p); j != nil {
			s.ready = append(s.ready, j)
		}
	}
}

// prepare begins to build a jail for a profile. It returns nil if none can be built ahead.
func (s *PreparedPool) prepare(p *policy.Profile) *spare {
	if s.failed != nil && s.failed.SameJail(p) {
		return nil
	}
	made, all := madeDirs(p)
	if !all {
		return nil
	}
	host := detect(p)
	host.HomeCopy = knownHomeCopy(p)
	plan, err := s.launcher.compileOn(p, host)
	if err != nil || !canBuildAhead(plan) {
		s.failed = p
		return nil
	}
	j := &spare{starter: s.launcher.spawn(false), profile: p, plan: plan, made: made, over: make(chan struct{})}
	go func() {
		defer close(j.over)
		j.build()
	}()
	return j
}

// Close ends all jails and waits for their ends.
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
	for _, j := range s.ready {
		s.end(j)
	}
	unix.Close(s.mounts)
	s.ready, s.closed, s.mounts = nil, true, -1
}

func (s *PreparedPool) end(j *spare) { s.ends.Go(j.abandon) }

// takeBuilt returns a jail that was built for a profile or, if there is none, one that is being built, or nil.
func (s *PreparedPool) takeBuilt(p *policy.Profile) *spare {
	j := s.takeSpare(func(j *spare) bool { return isClosed(j.over) && j.profile.SameJail(p) })
	if j == nil {
		j = s.takeSpare(func(j *spare) bool { return j.profile.SameJail(p) })
	}
	return j
}

// takeSpare removes the oldest jail for which fits returns true, and returns it.
func (s *PreparedPool) takeSpare(fits func(*spare) bool) *spare {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.drop()
	i := slices.IndexFunc(s.ready, fits)
	if i < 0 {
		return nil
	}
	oldest := s.ready[i]
	s.ready = slices.Delete(s.ready, i, i+1)
	return oldest
}

// drop ends all jails if the mounts of the host have changed, and those that could not be built. If another
// has ended by itself, none is started any more: this host has no namespaces, or no room.
func (s *PreparedPool) drop() {
	changed := s.mountsChanged()
	s.ready = slices.DeleteFunc(s.ready, func(j *spare) bool {
		failed := isClosed(j.over) && j.failed
		if failed {
			s.failed = j.profile
		}
		if failed || changed {
			s.end(j)
		}
		return failed || changed
	})
	if slices.ContainsFunc(s.ready, (*spare).isGone) {
		s.close()
	}
}

// mountsChanged reports whether the mounts have changed since its last call (proc_pid_mountinfo(5)).
func (s *PreparedPool) mountsChanged() bool {
	fds := []unix.PollFd{{Fd: int32(s.mounts), Events: unix.POLLPRI}}
	n, err := unix.Poll(fds, 0)
	return n != 0 || err != nil
}

// startBuilt starts the program in a jail of the pool. It returns nil if there is none for the profile, or if it could not be used: then nothing of the program has run, or the context has ended.
func (l Launcher) startBuilt(ctx context.Context, p *policy.Profile, stdio Stdio) *Process {
	if l.Pool == nil || !l.startsAs(l.Pool.launcher) {
		return nil
	}
	j := l.Pool.takeBuilt(p)
	if j == nil {
		return nil
	}
	return j.start(ctx, p, stdio, l)
}
