// Package tracer enforces the arguments and variables of command rules: it looks at every program that a
// jailed server starts, before the first instruction of the program.
//
// The server's second filter holds each execve, and package mediator passes it to Tracer.Begin. The tracer then
// traces the calling thread (ptrace(2), PTRACE_SEIZE) and lets the call continue. If the kernel loads a
// program, the thread stops (PTRACE_EVENT_EXEC). By then the other threads of the process are gone, the
// arguments are copied, and no other process shares the new memory. So the tracer reads there what the
// program will see (image_linux.go). Threads that changed the memory of the caller do not matter. The tracer
// asks policy.Profile.MatchStart, takes variables away, and lets the thread go, or kills it: see Tracer.judge.
// A thread whose execve fails stops before the call returns, and is let go. No other stop is asked for: forks,
// threads, calls and signals cost nothing, since no process is traced outside an execve.
//
// It touches the memory and registers of the threads that it has stopped, and no file. Its thread is the only
// one of the supervisor that calls ptrace.
//
// The execves of one process continue one after the other, so that a process has one traced thread at
// most: see groups_linux.go. Package supervisor waits for all processes, and the mediator passes the
// status of a thread that has stopped, or of a process that has ended, to Tracer.Stopped.
//
// Limits:
//
// The program of a script is its interpreter. The tracer replaces the name of the script by its canonical
// path, so that the interpreter opens the script that was judged; $0 of the script is that path then. A
// program that cannot be read (mode 0111) and a 32-bit program are refused.
//
// While an execve of one thread hangs in the kernel (a dead network filesystem), the execves of the other
// threads of that process wait. Without the tracer the kernel has them wait too, a step later. An execve
// of a file on FUSE can fail with EINTR, if the filesystem answers interrupts.
package tracer

import (
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Options are the inputs of New.
type Options struct {
	Profile  *policy.Profile
	Env      []string // the server's environment
	Listener *seccomp.Listener
	// Report reports a refused start: the file of the program, and argv, with the name of the
	// program in front. argv is nil if the arguments could not be read.
	Report func(pid int, program string, argv []string)
}

// Tracer judges the starts of one jail's programs.
type Tracer struct {
	o       Options
	files   map[string]inode // of the rules, by their paths
	granted func(string) bool
	tid     int // of its thread
	groups  map[int]*group
	waiting int // execves in groups

	mu    sync.Mutex
	queue []event
	wake  chan struct{} // has room for one
}

// event is a call that is held, or a stop or the end of a traced thread.
type event struct {
	held seccomp.Notification
	pid  int // of a thread; 0: a held call
	ws   syscall.WaitStatus
}

type inode struct{ dev, ino uint64 }

// maxHeldStarts bounds the calls that wait for the tracer. One more gets EAGAIN.
const maxHeldStarts = 4096

// New returns a tracer and starts its thread.
func New(o Options) *Tracer {
	t := &Tracer{o: o, files: map[string]inode{}, groups: map[int]*group{}, wake: make(chan struct{}, 1)}
	for _, c := range slices.Concat(o.Profile.Commands, o.Profile.AndCommands) {
		for _, s := range c.Starts {
			t.identify(s.File)
			t.identify(s.Script)
		}
	}
	for _, file := range o.Profile.OwnPrograms {
		t.identify(file)
	}
	t.granted = func(variable string) bool { return slices.Contains(o.Env, variable) }
	ready := make(chan struct{})
	go t.run(ready)
	<-ready
	return t
}

// identify stores the identity of a file of a rule. A file that is missing matches nothing.
func (t *Tracer) identify(file string) {
	var st unix.Stat_t
	if file != "" && unix.Stat(file, &st) == nil {
		t.files[file] = inode{st.Dev, st.Ino}
	}
}

// Begin takes a held execve, and lets it continue when its caller is traced. It does not block.
func (t *Tracer) Begin(n *seccomp.Notification) {
	if !t.add(event{held: *n}) {
		t.o.Listener.Respond(n.Id, unix.EAGAIN)
	}
}

// Stopped takes a status that wait(2) returned: a traced thread has stopped, or a process or a
// thread has ended.
func (t *Tracer) Stopped(pid int, ws syscall.WaitStatus) { t.add(event{pid: pid, ws: ws}) }

// add queues an event and reports whether there was room for it. There always is for a
// thread: each has one stop at most, and one end.
func (t *Tracer) add(e event) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.pid == 0 && len(t.queue) >= maxHeldStarts {
		return false
	}
	t.queue = append(t.queue, e)
	select {
	case t.wake <- struct{}{}:
	default:
	}
	return true
}

// run is the loop of the tracer. It runs until the jail ends. When its thread ends, the kernel
// kills the processes that it traces (PTRACE_O_EXITKILL).
func (t *Tracer) run(ready chan<- struct{}) {
	runtime.LockOSThread()
	t.tid = unix.Gettid()
	close(ready)
	for range t.wake {
		t.mu.Lock()
		events := t.queue
		t.queue = nil
		t.mu.Unlock()
		for i := range events {
			switch e := &events[i]; {
			case e.pid == 0:
				t.begin(&e.held)
			case e.ws.Stopped():
				t.stopped(e.pid, e.ws)
			default:
				t.ended(e.pid)
			}
		}
	}
}

func (t *Tracer) traces(tid int) bool { return sys.Tracer(tid) == t.tid }

// judge decides about a program that the kernel has loaded and that has not run yet. Its memory
// is its own by now: no other process can write to it.
func (t *Tracer) judge(pid int) {
	var exe unix.Stat_t
	m := policy.CommandMatch{}
	im, err := readImage(pid)
	if err == nil {
		err = unix.Fstatat(sys.DirFD, sys.ThreadFile(pid, "exe"), &exe, 0)
	}
	if err == nil {
		file := inode{exe.Dev, exe.Ino}
		m = t.o.Profile.MatchStart(policy.ProgramStart{
			Argv:     im.argv,
			IsFile:   func(path string) bool { return t.files[path] == file },
			IsScript: func(word, script string) bool { return t.leadsTo(pid, word, script) },
		})
	}
	if err == nil && m.Allowed {
		if err = t.edit(im, &m); err == nil {
			detach(pid, 0)
			return
		}
	}
	if err == unix.ESRCH {
		return // it was killed
	}
	if m.Program == "" {
		m.Program, _ = os.Readlink(sys.ThreadFile(pid, "exe"))
	}
	var argv []string
	if err == nil && len(im.argv) > 0 {
		name := im.argv[0] // whole: it may be the reason
		if m.Name != "" {
			name = path.Base(m.Name)
		}
		argv = append([]string{name}, m.Args...)
	}
	t.o.Report(pid, m.Program, argv)
	unix.Kill(pid, unix.SIGKILL)
}

// edit takes away the variables that the program may not see, and replaces the name of a script
// by its path, so that the interpreter opens the script that was judged.
func (t *Tracer) edit(im *image, m *policy.CommandMatch) error {
	keep := func(variable string) bool { return m.Keeps(variable, t.granted) }
	if m.Argument > 0 && im.argv[m.Argument] == m.Script {
		m.Argument = 0
	}
	return im.rewrite(keep, m.Argument, m.Script)
}

func (t *Tracer) leadsTo(pid int, name, script string) bool {
	want, ok := t.files[script]
	if !ok || name == "" {
		return false
	}
	var st unix.Stat_t
	for prefix, file := range ownFiles {
		if rest, ok := strings.CutPrefix(name, prefix); ok { // as execveat(2) names a descriptor
			return unix.Fstatat(sys.DirFD, sys.ThreadFile(pid, file+rest), &st, 0) == nil && want == inode{st.Dev, st.Ino}
		}
	}
	base := unix.AT_FDCWD
	if name[0] != '/' {
		fd, err := unix.Openat(sys.DirFD, sys.ThreadFile(pid, "cwd"), unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return false
		}
		defer unix.Close(fd)
		base = fd
	}
	return unix.Fstatat(base, name, &st, 0) == nil && want == inode{st.Dev, st.Ino}
}

// ownFiles maps prefixes of names that lead each process to its own files to the prefixes below
// /proc/PID.
var ownFiles = map[string]string{"/dev/fd/": "fd/", "/proc/self/": "", "/proc/thread-self/": ""}
