package confine

import (
	"bytes"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/policy"
)

// The supervisor answers the calls that the server's filter hands over (notify.go).
// It lives in the jail's init, so it sees the same files under the same names, and
// it ends with the jail: hooked calls then fail with ENOSYS.
//
// It has two kinds of threads. The receiver reads arguments, for which it must be
// outside of the server's Landlock domain and hold CAP_SYS_PTRACE in the jail's
// user namespace. It changes nothing. Workers carry calls out. They hold no
// capability and are under a ruleset with the server's rules, so the kernel decides
// about what they do as it would about the server: a mistake here can let a name
// come into being that should not, and nothing else.
type supervisor struct {
	listener listener
	profile  *policy.Profile
	calls    map[uint32]hookedCall
	ruleset  int
	bare     bool   // without mounts: names are all that decides
	end      func() // of the jail
	say      func(message)
	ledger   ledger
	names    nameLock
	todo     chan *request
	idle     chan struct{} // a token for every worker that waits for todo
	workers  int
}

// request is one hooked call, read from the caller's memory once.
type request struct {
	hookedCall
	n     notification
	names [2]string
	bases [2]int // O_PATH descriptors that relative names begin at; -1 for none
	text  string // of a symlink
	tgid  int    // 0 until it is needed
	umask int
	times []unix.Timespec // of hookTimes; nil is now
	tries int
}

// maxWorkers bounds the calls that are carried out at once. They block only on
// filesystems that hang. There are spare threads for them (spareThreads): when the
// server has taken all that there may be, the supervisor still answers.
const maxWorkers = 4

// newSupervisor starts the first worker too, which needs nothing of the steps that
// follow and takes some of the time that they take.
func newSupervisor(s *shim) *supervisor {
	arch, _ := archOf(runtime.GOARCH)
	programs := s.order.Programs
	if s.order.AnyProgram {
		programs = nil
	}
	v := &supervisor{
		ruleset: s.making, bare: s.bare, end: s.end, say: s.say, calls: hookedByNumber(arch),
		profile: &policy.Profile{Entries: s.order.Entries, Unprotected: s.order.Unprotected, Programs: programs},
		ledger:  ledger{say: s.say, self: unix.Gettid()},
		todo:    make(chan *request), idle: make(chan struct{}, maxWorkers),
		workers: 1,
	}
	go v.work(nil)
	return v
}

// receive is the receiver. It ends with the jail.
func (v *supervisor) receive(l listener) {
	v.listener = l
	v.listener.tune()
	for {
		var n notification
		switch v.listener.receive(&n) {
		case 0:
			v.take(&n)
		case unix.ENOENT, unix.EINTR: // the caller was killed before we looked
		default:
			v.end() // hooked calls cannot be answered any more: no jail
		}
	}
}

func (v *supervisor) take(n *notification) {
	call, ok := v.calls[uint32(n.nr)]
	if !ok {
		v.listener.finish(n.id, unix.ENOSYS)
		return
	}
	r := &request{hookedCall: call, n: *n, bases: [2]int{-1, -1}}
	if call.op == hookOpen && r.openFlags()&unix.O_PATH != 0 {
		// It opens nothing, whatever the name says by then, and such a descriptor cannot
		// be handed over.
		v.listener.proceed(n.id)
		return
	}
	if call.op == hookConnect || call.op == hookExec {
		// What the kernel decides must not wait for what we make of it.
		v.witnessCall(r)
		v.listener.proceed(n.id)
		return
	}
	if errno := v.read(r); errno != 0 {
		r.close()
		v.listener.finish(n.id, errno)
		return
	}
	v.pass(r)
}

// pass gives a request to a worker that waits, or to a new one: never to one that
// may be kept waiting itself.
func (v *supervisor) pass(r *request) {
	select {
	case <-v.idle:
		v.todo <- r
		return
	default:
	}
	if v.workers < maxWorkers {
		v.workers++
		go v.work(r)
		return
	}
	<-v.idle
	v.todo <- r
}

// work is a worker. Its thread is its own and ends with it.
func (v *supervisor) work(r *request) {
	runtime.LockOSThread()
	if err := becomeWorker(v.ruleset); err != nil {
		v.say(message{kind: saysNote, detail: "the supervisor: " + err.Error()})
		v.end()
	}
	for {
		if r == nil {
			// The first one waits.
		} else if v.carryOut(r) {
			r.close()
		} else {
			go v.later(r)
		}
		v.idle <- struct{}{}
		r = <-v.todo
	}
}

// later has a call carried out again, for as long as somebody waits for it.
func (v *supervisor) later(r *request) {
	r.tries = min(r.tries+1, 50)
	time.Sleep(time.Duration(r.tries) * time.Millisecond)
	if !v.listener.valid(r.n.id) {
		r.close()
		return
	}
	<-v.idle
	v.todo <- r
}

// becomeWorker takes from the thread what the server does not have either, gives it
// a umask of its own, and keeps signals from it (see listener.hand).
func becomeWorker(ruleset int) error {
	var all unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &all, nil); err != nil {
		return on("sigprocmask", err)
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return on("unshare", err)
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&hdr, &none[0]); err != nil {
		return on("capset", err)
	}
	if err := noNewPrivileges(); err != nil {
		return on("no_new_privs", err)
	}
	return on("landlock", restrictThread(ruleset))
}

func (r *request) close() {
	for i, fd := range r.bases {
		if fd >= 0 {
			unix.Close(fd)
			r.bases[i] = -1
		}
	}
}

func (r *request) arg(i int) uint64 {
	if i < 0 {
		return 0
	}
	return r.n.args[i]
}

// read copies the arguments of a call, and opens what relative names begin at. It
// leaves no way back into the caller: from here on nothing that it changes counts.
func (v *supervisor) read(r *request) (errno syscall.Errno) {
	for i, p := range [2]struct{ dir, path int }{{r.dir, r.path}, {r.dir2, r.path2}} {
		if i == 0 && r.onDescriptor() {
			if r.bases[0], errno = openBase(int(r.n.tid), r.dir, r.arg(r.dir)); errno != 0 {
				return errno
			}
			continue
		}
		if p.path == noArg {
			continue
		}
		if r.names[i], errno = readString(int(r.n.tid), r.arg(p.path)); errno != 0 {
			return errno
		}
		if r.names[i] == "" && !r.emptyPath() {
			return unix.ENOENT
		}
		if r.names[i] == "" {
			if r.bases[i], errno = openBase(int(r.n.tid), p.dir, r.arg(p.dir)); errno != 0 {
				return errno
			}
			continue
		}
		if r.names[i][0] == '/' {
			continue
		}
		if r.bases[i], errno = openBase(int(r.n.tid), p.dir, r.arg(p.dir)); errno != 0 {
			return errno
		}
	}
	if r.text != "" || r.op == hookSymlink {
		if r.text, errno = readString(int(r.n.tid), r.arg(r.hookedCall.text)); errno != 0 {
			return errno
		}
	}
	if r.op == hookTimes {
		if r.times, errno = readTimes(int(r.n.tid), r.call, r.arg(r.mode)); errno != 0 {
			return errno
		}
	}
	if r.makes() {
		if r.tgid, r.umask, errno = statusOf(int(r.n.tid)); errno != 0 {
			return errno
		}
	}
	if !v.listener.valid(r.n.id) {
		return unix.ESRCH
	}
	return 0
}

// makes tells whether the caller's umask counts.
func (r *request) makes() bool {
	switch r.op {
	case hookMkdir, hookMknod:
		return true
	case hookOpen:
		return r.openFlags()&(oCreat|oTmpfile) != 0
	}
	return false
}

// openFlags are the flags of an open; creat has none.
func (r *request) openFlags() int {
	if r.flags == noArg {
		return unix.O_CREAT | unix.O_WRONLY | unix.O_TRUNC
	}
	return int(int32(r.arg(r.flags)))
}

// openBase opens the directory that a relative name begins at.
func openBase(tid, arg int, value uint64) (int, syscall.Errno) {
	name := "/proc/" + strconv.Itoa(tid) + "/cwd"
	if arg != atCwd && int32(value) != unix.AT_FDCWD {
		name = "/proc/" + strconv.Itoa(tid) + "/fd/" + strconv.Itoa(int(int32(value)))
	}
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return -1, unix.EBADF
	}
	return fd, asErrno(err)
}

// readString reads a name from another process: up to PATH_MAX bytes with the
// NUL, page by page, since the next page may not be there.
func readString(tid int, addr uint64) (string, syscall.Errno) {
	buf := make([]byte, 0, 256)
	for len(buf) < unix.PathMax {
		at := addr + uint64(len(buf))
		size := min(4096-int(at%4096), unix.PathMax-len(buf))
		chunk := make([]byte, min(size, 256))
		n, errno := readMemory(tid, at, chunk)
		if errno != 0 {
			return "", errno
		}
		if i := bytes.IndexByte(chunk[:n], 0); i >= 0 {
			return string(append(buf, chunk[:i]...)), 0
		}
		buf = append(buf, chunk[:n]...)
	}
	return "", unix.ENAMETOOLONG
}

func readMemory(tid int, addr uint64, into []byte) (int, syscall.Errno) {
	local := unix.Iovec{Base: &into[0], Len: uint64(len(into))}
	remote := unix.RemoteIovec{Base: uintptr(addr), Len: len(into)}
	n, _, errno := unix.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(tid),
		uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	runtime.KeepAlive(into)
	if errno == 0 && n == 0 {
		errno = unix.EFAULT
	}
	return int(n), errno
}

// statusOf reads proc(5) status: the process of a thread, and its umask.
func statusOf(tid int) (tgid, umask int, errno syscall.Errno) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(tid)+"/status", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, 0, unix.ESRCH
	}
	var b [512]byte
	n, err := unix.Read(fd, b[:])
	unix.Close(fd)
	if err != nil {
		return 0, 0, unix.ESRCH
	}
	tgid, umask = -1, -1
	for line := range bytes.Lines(b[:n]) {
		if v, ok := bytes.CutPrefix(line, []byte("Umask:")); ok {
			u, _ := strconv.ParseInt(string(bytes.TrimSpace(v)), 8, 32)
			umask = int(u)
		}
		if v, ok := bytes.CutPrefix(line, []byte("Tgid:")); ok {
			tgid, _ = strconv.Atoi(string(bytes.TrimSpace(v)))
		}
	}
	if tgid < 0 || umask < 0 {
		return 0, 0, unix.ESRCH
	}
	return tgid, umask, 0
}
