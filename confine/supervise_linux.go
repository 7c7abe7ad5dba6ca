package confine

import (
	"runtime"
	"time"

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
	failed   func(step string, err error)
	ledger   ledger
	names    nameLock
	todo     chan *request
	idle     chan struct{} // a token for every worker that waits for todo
	workers  int
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
		ruleset: s.making, bare: s.bare, end: s.end, failed: s.report, calls: hookedByNumber(arch),
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
		// The kernel decides. A refusal is on record before the server can know of it.
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
	if step, err := becomeWorker(v.ruleset); err != nil {
		v.failed(step, err)
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
// a umask of its own, and keeps signals from it (see listener.hand). It names the
// step that failed.
func becomeWorker(ruleset int) (step string, err error) {
	var all unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	for _, s := range []shimStep{
		{"supervisor", func() error { return unix.PthreadSigmask(unix.SIG_BLOCK, &all, nil) }},
		{"supervisor", func() error { return unix.Unshare(unix.CLONE_FS) }},
		{"capabilities", func() error { return unix.Capset(&hdr, &none[0]) }},
		{"no_new_privs", noNewPrivileges},
		{"landlock", func() error { return restrictThread(ruleset) }},
	} {
		if err := s.run(); err != nil {
			return s.name, err
		}
	}
	return "", nil
}
