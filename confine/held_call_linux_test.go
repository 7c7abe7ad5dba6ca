package confine

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/policy"
)

// heldCall is a call that a filter has handed over to this process and that waits for
// its answer, until it is let go.
func heldCall(t *testing.T) (l listener, id uint64, letGo func()) {
	t.Helper()
	needs(t, "seccomp")
	arch, _ := archOf(runtime.GOARCH)
	prog, err := compileFilter(arch, nil, []seccompNotify{{Call: "umask"}})
	if err != nil {
		t.Fatal(err)
	}
	type opened struct {
		fd  int
		err error
	}
	listening, back := make(chan opened), make(chan struct{})
	go func() {
		defer close(back)
		runtime.LockOSThread() // which ends the thread, and the filter with it
		err := blockSignals()  // one would have the kernel ask again, as another call
		if err == nil {
			err = noNewPrivileges()
		}
		fd := -1
		if err == nil {
			fd, err = applySeccomp(filterRecords(prog), unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
		}
		listening <- opened{fd, err}
		if err == nil {
			unix.Syscall(unix.SYS_UMASK, 0o22, 0, 0) // never carried out
		}
	}()
	got := <-listening
	if got.err != nil {
		t.Fatal(got.err)
	}
	var n notification
	l = listener(got.fd)
	for errno := syscall.Errno(unix.EINTR); errno == unix.EINTR; {
		if errno = l.receive(&n); errno != 0 && errno != unix.EINTR {
			t.Fatal(errno)
		}
	}
	answered := false
	letGo = func() {
		if !answered {
			l.finish(n.id, 0)
			<-back
		}
		answered = true
	}
	t.Cleanup(func() {
		letGo()
		unix.Close(got.fd)
	})
	return l, n.id, letGo
}

// TestStaleCallIsNobodys: a thread's number belongs to somebody else as soon as nobody
// waits for the call any more, and what was read or would be written through it is
// theirs. This process plays the one that has the number then.
func TestStaleCallIsNobodys(t *testing.T) {
	name, text := []byte("/etc/hostname\x00"), []byte("1234")
	at := func(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&b[0]))) }
	var pinned runtime.Pinner
	pinned.Pin(&name[0])
	pinned.Pin(&text[0])
	defer pinned.Unpin()
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	closeIt := func(fd int, errno syscall.Errno) syscall.Errno {
		if errno == 0 {
			unix.Close(fd)
		}
		return errno
	}
	for _, c := range []struct {
		what string
		try  func(l listener, n *notification) syscall.Errno
	}{
		{"the arguments of a call", func(l listener, n *notification) syscall.Errno {
			n.args[0] = at(name)
			r := &request{hookedCall: hookedCall{call: "rmdir", op: hookRemove, dir: atCwd, path2: noArg}, n: *n, bases: [2]int{-1, -1}}
			errno := (&supervisor{listener: l}).read(r)
			if errno == 0 && r.names[0] != "/etc/hostname" {
				t.Errorf("read %q", r.names[0])
			}
			return errno
		}},
		{"the process that makes it", func(l listener, n *notification) syscall.Errno {
			switch tgid := (&supervisor{listener: l}).processOf(&request{n: *n}); tgid {
			case os.Getpid():
				return 0
			case 0:
				return unix.ESRCH
			default:
				return unix.EINVAL
			}
		}},
		{"an address", func(l listener, n *notification) syscall.Errno {
			return (&sockets{listener: &l}).read(n, at(text), make([]byte, 4))
		}},
		{"its memory", func(l listener, n *notification) syscall.Errno {
			return closeIt((&sockets{listener: &l}).memory(n))
		}},
		{"its socket", func(l listener, n *notification) syscall.Errno {
			n.args[0] = uint64(file.Fd())
			return closeIt((&sockets{listener: &l}).duplicate(n))
		}},
		{"its socket, by its process", func(l listener, n *notification) syscall.Errno {
			n.args[0] = uint64(file.Fd())
			return closeIt((&sockets{listener: &l, old: true}).duplicate(n))
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			l, id, letGo := heldCall(t)
			n := notification{id: id, tid: uint32(os.Getpid())}
			if errno := c.try(l, &n); errno != 0 {
				t.Errorf("while it waits: %v", errno)
			}
			letGo()
			if errno := c.try(l, &n); errno != unix.ESRCH {
				t.Errorf("when it waits no more: %v", nilIfZero(errno))
			}
		})
	}
}

// TestLaterIsForWhoWaits: what is to be tried again is given up, and what it holds let
// go of, when nobody waits for it any more.
func TestLaterIsForWhoWaits(t *testing.T) {
	l, id, letGo := heldCall(t)
	open := func() int {
		fd, err := unix.Open(t.TempDir(), unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		return fd
	}
	for _, waits := range []bool{true, false} {
		if !waits {
			letGo()
		}
		w := &worker{}
		v := &supervisor{listener: l, idle: newIdleWorkers()}
		v.idle.push(w)
		r := &request{n: notification{id: id}, bases: [2]int{open(), -1}}
		fd := r.bases[0]
		v.later(r)
		_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if given := w.given == 1; given != waits || (err == nil) != waits {
			t.Errorf("waits: %t, given to a worker: %t, its directory: %v", waits, given, err)
		}
		r.close()
	}
}

// TestDatagramIsForWhoWaits: so is a datagram that has not come.
func TestDatagramIsForWhoWaits(t *testing.T) {
	l, id, letGo := heldCall(t)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	s := &sockets{listener: &l}
	isOpen := func(fd int) bool {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		return err == nil
	}
	for _, c := range []struct {
		what      string
		waits     bool
		for_      time.Duration // from now; 0: for ever
		goesOn    bool
		comesThen bool
	}{
		{"for ever", true, 0, true, false},
		{"for an hour", true, time.Hour, true, false},
		{"an hour ago", true, -time.Hour, false, false},
		{"no more", false, 0, false, true},
	} {
		l, id := l, id
		if !c.waits {
			letGo()
		} else if c.for_ < 0 { // it is answered, so it has one of its own
			l, id, _ = heldCall(t)
		}
		s.listener = &l
		fd, err := unix.FcntlInt(uintptr(pair[0]), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		mem, err := unix.Open("/proc/self/mem", unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		w := &receiving{n: notification{id: id, tid: uint32(os.Getpid())}, call: "recvfrom", state: &socketState{family: unix.AF_INET, pair: true}, mem: mem}
		if c.for_ != 0 {
			w.until = time.Now().Add(c.for_)
		}
		if c.comesThen { // and is for whoever asks next
			if err := unix.Send(pair[1], []byte("answer"), 0); err != nil {
				t.Fatal(err)
			}
		}
		done := w.tryAgain(s, fd)
		if done == c.goesOn || isOpen(fd) != c.goesOn || isOpen(mem) != c.goesOn {
			t.Errorf("%s: done %t, its socket is open %t, its memory %t", c.what, done, isOpen(fd), isOpen(mem))
		}
		if c.goesOn {
			unix.Close(fd)
			unix.Close(mem)
		}
		if c.comesThen {
			b := make([]byte, 16)
			if n, err := unix.Read(pair[0], b); err != nil || string(b[:n]) != "answer" {
				t.Errorf("%s: the answer is %q, %v", c.what, b[:max(0, n)], err)
			}
		}
	}
}

// witnessed runs a witness of a supervisor over a call of this process, and tells what
// it reports.
func witnessed(v *supervisor, id uint64, call string, args ...uint64) (told []string) {
	hooked := hookedCalls()
	for i := range hooked {
		if hooked[i].call != call {
			continue
		}
		r := &request{hookedCall: hooked[i], n: notification{id: id, tid: uint32(os.Getpid())}, bases: [2]int{-1, -1}}
		copy(r.n.args[:], args)
		v.ledger = ledger{say: func(m message) { told = append(told, fmt.Sprint(m.step, " ", m.detail, " ", m.target)) }}
		v.witnessCall(r)
	}
	return told
}

// TestWitnessConnect: of connections exactly those are reported that the jail refuses,
// and no address, however short or long it is said to be, does the supervisor any harm.
func TestWitnessConnect(t *testing.T) {
	dir := shortDir(t)
	accept(t, "unix", dir+"/there")
	inet := func(at string) []byte { return sockaddr(netip.MustParseAddrPort(at)) }
	local := func(p string) []byte { return append([]byte{unix.AF_UNIX, 0}, p...) }
	const rest = 1 << 40
	for _, c := range []struct {
		what  string
		raw   []byte
		size  uint64
		gated bool
		want  string
	}{
		{"an address elsewhere", inet("198.51.100.7:443"), 0, false, "[net connect 198.51.100.7:443]"},
		{"of the other family", inet("[2001:db8::1]:443"), 0, false, "[net connect [2001:db8::1]:443]"},
		{"without a scope, as the kernel takes it", inet("[2001:db8::1]:443"), 24, false, "[net connect [2001:db8::1]:443]"},
		{"the one in the form of the other", inet("[::ffff:198.51.100.7]:443"), 0, false, "[net connect 198.51.100.7:443]"},
		{"in a longer one", inet("198.51.100.7:443"), 128, false, "[net connect 198.51.100.7:443]"},
		{"in one that nobody could hold", inet("198.51.100.7:443"), rest, false, "[net connect 198.51.100.7:443]"},
		{"where the gate knows", inet("198.51.100.7:443"), 0, true, "[]"},
		{"to find out an address", inet("198.51.100.7:0"), 0, false, "[]"},
		{"the unspecified", inet("0.0.0.0:80"), 0, false, "[]"},
		{"the jail's own", inet("127.0.0.1:80"), 0, false, "[]"},
		{"the jail's own, of the other family", inet("[::1]:80"), 0, false, "[]"},
		{"a resolver on this host", inet("127.0.0.53:53"), 0, false, "[net resolve ]"},
		{"no address", inet("198.51.100.7:443"), 2, false, "[]"},
		{"half an address", inet("198.51.100.7:443"), 7, false, "[]"},
		{"half of the other", inet("[2001:db8::1]:443"), 23, false, "[]"},
		{"a length of one", inet("198.51.100.7:443"), 1, false, "[]"},
		{"a socket that is nowhere", local(dir + "/a/../nowhere\x00"), 0, false, "[ipc connect " + dir + "/nowhere]"},
		{"without an end", local(dir + "/nowhere"), 0, false, "[ipc connect " + dir + "/nowhere]"},
		{"a socket that is there", local(dir + "/there\x00"), 0, false, "[]"},
		{"below what is no directory", local(dir + "/there/x\x00"), 0, false, "[]"},
		{"abstract", local("\x00name"), 0, false, "[]"},
		{"relative", local("nowhere\x00"), 0, false, "[]"},
		{"libc's", local("/var/run/nscd/socket\x00"), 0, false, "[]"},
		{"another family", []byte{unix.AF_NETLINK, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0, false, "[]"},
	} {
		size := c.size
		if size == 0 {
			size = uint64(len(c.raw))
		}
		b := make([]byte, 256)
		copy(b, c.raw)
		var pinned runtime.Pinner
		pinned.Pin(&b[0])
		got := witnessed(&supervisor{gated: c.gated}, 0, "connect", 0, uint64(uintptr(unsafe.Pointer(&b[0]))), size)
		pinned.Unpin()
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}

// TestWitnessReadsWhole: of an address that ends where there is no memory the rest is not
// made up.
func TestWitnessReadsWhole(t *testing.T) {
	page := os.Getpagesize()
	m, err := unix.Mmap(-1, 0, 2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	raw := sockaddr(netip.MustParseAddrPort("198.51.100.7:443"))
	at := func(i int) uint64 { return uint64(uintptr(unsafe.Pointer(&m[i]))) }
	copy(m[page-len(raw):], raw)
	if err := unix.Mprotect(m[page:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	if got := witnessed(&supervisor{}, 0, "connect", 0, at(page-len(raw)), uint64(len(raw))); len(got) != 1 {
		t.Errorf("to the last byte: %v", got)
	}
	if got := witnessed(&supervisor{}, 0, "connect", 0, at(page-len(raw)), uint64(len(raw)+1)); len(got) != 0 {
		t.Errorf("beyond it: %v", got)
	}
}

// TestWitnessExec: of executions exactly those are reported that the jail refuses, and
// nothing of them stays open.
func TestWitnessExec(t *testing.T) {
	dir := plant(t, "granted/run", "listed/run", "listed/text", "listed/dir/", "outside/run", "run", "listed/link -> run", "listed/out -> ../outside/run")
	for _, name := range []string{"granted/run", "listed/run", "outside/run", "run"} {
		if err := os.Chmod(dir+"/"+name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir+"/listed/text", 0o644); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(dir+"/listed/fifo", 0o755); err != nil {
		t.Fatal(err)
	}
	profile := &policy.Profile{Entries: []policy.Entry{
		{Path: dir + "/granted", Kind: policy.KindDir, Rights: policy.Read | policy.Execute},
		{Path: dir + "/listed", Kind: policy.KindDir, Rights: policy.Read},
	}}
	at, err := unix.Open(dir+"/listed", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(at)
	open := func() (n int) {
		for _, fd := range namesIn("/proc/self/fd") {
			if to, err := os.Readlink("/proc/self/fd/" + fd); err == nil && strings.HasPrefix(to, dir) {
				n++
			}
		}
		return n
	}
	for _, c := range []struct{ name, want string }{
		{dir + "/listed/run", "[process exec " + dir + "/listed/run]"},
		{"run", "[process exec " + dir + "/listed/run]"},
		{"link", "[process exec " + dir + "/listed/run]"},
		{"../listed/run", "[process exec " + dir + "/listed/run]"},
		{dir + "/granted/run", "[]"},
		{dir + "/outside/run", "[]"},
		{"out", "[]"},
		{dir + "/run", "[]"},
		{"text", "[]"},
		{"dir", "[]"},
		{"fifo", "[]"},
		{"absent", "[]"},
		{"absent/run", "[]"},
		{"run/x", "[]"},
	} {
		l, id, _ := heldCall(t)
		name := append([]byte(c.name), 0)
		var pinned runtime.Pinner
		pinned.Pin(&name[0])
		before := open()
		got := witnessed(&supervisor{listener: l, profile: profile}, id, "execveat", uint64(at), uint64(uintptr(unsafe.Pointer(&name[0]))))
		pinned.Unpin()
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if after := open(); after != before {
			t.Errorf("%s: %d more are open", c.name, after-before)
		}
	}
}

// TestDatagramCalls: what a program is told of a UDP socket that is none, for odd
// arguments too, and that none of them does the supervisor any harm.
func TestDatagramCalls(t *testing.T) {
	l, id, _ := heldCall(t)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	m, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	at := func(i int) uint64 { return uint64(uintptr(unsafe.Pointer(&m[i]))) }
	const header, iovec, name, size, buffer = 0, 64, 128, 192, 256
	resolver := sockaddr(netip.MustParseAddrPort("192.0.2.53:53"))
	call := func(o *socketState, what string, args ...uint64) socketReply {
		n := &notification{id: id, tid: uint32(os.Getpid())}
		copy(n.args[:], args)
		return (&sockets{listener: &l}).datagram(n, what, pair[0], o)
	}
	put := func(b []byte) (uint64, uint64) {
		copy(m[name:], b)
		return at(name), uint64(len(b))
	}
	inet := func(s string) []byte { return sockaddr(netip.MustParseAddrPort(s)) }
	fresh := func() *socketState { return &socketState{family: unix.AF_INET, pair: true, number: 40000} }

	for _, c := range []struct {
		what, call string
		raw        []byte
		want       socketReply
	}{
		{"whatever port", "bind", inet("0.0.0.0:0"), socketReply{}},
		{"a port", "bind", inet("0.0.0.0:5353"), failed(unix.EACCES)},
		{"no address", "bind", []byte{unix.AF_UNIX, 0, 'x', 0}, failed(unix.EINVAL)},
		{"half an address", "bind", inet("0.0.0.0:0")[:7], failed(unix.EINVAL)},
		{"a byte", "bind", []byte{2}, failed(unix.EINVAL)},
		{"more than an address", "bind", make([]byte, 129), failed(unix.EINVAL)},
		{"a resolver", "connect", resolver, socketReply{}},
		{"one of the other family", "connect", inet("[2001:db8::1]:53"), failed(unix.EAFNOSUPPORT)},
		{"half a resolver", "connect", resolver[:7], failed(unix.EINVAL)},
		{"a byte", "connect", resolver[:1], failed(unix.EINVAL)},
		{"a resolver in all that an address can be", "connect", append(slices.Clone(resolver), make([]byte, 112)...), socketReply{}},
		{"and in more", "connect", append(slices.Clone(resolver), make([]byte, 113)...), failed(unix.EINVAL)},
	} {
		p, n := put(c.raw)
		if got := call(fresh(), c.call, 0, p, n); got != c.want {
			t.Errorf("%s, %s: %+v, want %+v", c.call, c.what, got, c.want)
		}
	}
	if got := call(fresh(), "connect", 0, at(name), 1<<32-1); got != failed(unix.EINVAL) {
		t.Errorf("connect, of less than nothing: %+v", got)
	}
	for _, c := range []struct {
		what string
		raw  []byte
		want socketReply
	}{
		{"a resolver", resolver, proceeds},
		{"one of the other family", inet("[2001:db8::1]:53"), failed(unix.EAFNOSUPPORT)},
		{"whoever it is connected to", nil, proceeds},
	} {
		p, n := put(c.raw)
		if got := call(fresh(), "sendto", 0, 0, 0, 0, p, n); got != c.want {
			t.Errorf("sendto, %s: %+v, want %+v", c.what, got, c.want)
		}
	}

	// Names: of the peer where there is one, cut to the room that there is.
	room := func(n int32) { binary.NativeEndian.PutUint32(m[size:], uint32(n)) }
	named := func(o *socketState, what string, n int32) string {
		clear(m[name : name+64])
		room(n)
		reply := call(o, what, 0, at(name), at(size))
		if reply.errno != 0 {
			return unix.ErrnoName(reply.errno)
		}
		to, _ := endpoint(m[name : name+64])
		return fmt.Sprint(to, " ", binary.NativeEndian.Uint32(m[size:]))
	}
	connected, told := fresh(), fresh()
	connected.speaksTo(resolver, nil)
	told.speaksTo(nil, resolver)
	for _, c := range []struct {
		o    *socketState
		what string
		room int32
		want string
	}{
		{fresh(), "getpeername", 16, "ENOTCONN"},
		{told, "getpeername", 16, "ENOTCONN"},
		{connected, "getpeername", 16, "192.0.2.53:53 16"},
		{connected, "getpeername", 128, "192.0.2.53:53 16"},
		{connected, "getpeername", 6, "192.0.0.0:53 16"},
		{connected, "getpeername", -1, "EINVAL"},
		{fresh(), "getsockname", 16, "0.0.0.0:0 16"},
		{told, "getsockname", 16, "0.0.0.0:40000 16"},
		{connected, "getsockname", 16, "127.0.0.1:40000 16"},
	} {
		if got := named(c.o, c.what, c.room); got != c.want {
			t.Errorf("%s with room for %d: %s, want %s", c.what, c.room, got, c.want)
		}
	}

	// Answers.
	receives := func(what string, iovecs uint64, nameRoom int32, flags uint64) string {
		clear(m[header : header+64])
		clear(m[buffer : buffer+16])
		clear(m[name : name+64])
		word := func(i int, v uint64) { binary.NativeEndian.PutUint64(m[i:], v) }
		word(header, at(name))
		word(header+msgNameLen, uint64(uint32(nameRoom)))
		word(header+msgIov, at(iovec))
		word(header+msgIovLen, iovecs)
		word(header+msgControlLen, 7)
		word(iovec, at(buffer))
		word(iovec+8, 4)
		room(16)
		var reply socketReply
		switch what {
		case "recvfrom":
			reply = call(connected, what, 0, at(buffer), 4, flags, at(name), at(size))
		case "recvmmsg":
			reply = call(connected, what, 0, at(header), 1, flags)
		default:
			reply = call(connected, what, 0, at(header), flags)
		}
		if reply.errno != 0 || reply.done || reply.proceed {
			return fmt.Sprint(unix.ErrnoName(reply.errno), " ", reply.done, reply.proceed)
		}
		said := fmt.Sprintf("%d %q", reply.val, strings.TrimRight(string(m[buffer:buffer+16]), "\x00"))
		if what != "recvfrom" {
			h := func(i int) uint32 { return binary.NativeEndian.Uint32(m[header+i:]) }
			to, _ := endpoint(m[name : name+64])
			said += fmt.Sprintf(" flags %#x control %d name %d %s", h(msgFlags), h(msgControlLen), h(msgNameLen), to)
		}
		if what == "recvmmsg" {
			said += fmt.Sprint(" of ", binary.NativeEndian.Uint32(m[header+sizeofMsghdr:]))
		}
		return said
	}
	const dontWait, peek, trunc, errors = unix.MSG_DONTWAIT, unix.MSG_PEEK, unix.MSG_TRUNC, unix.MSG_ERRQUEUE
	memories := func() (n int) {
		for _, fd := range namesIn("/proc/self/fd") {
			if to, err := os.Readlink("/proc/self/fd/" + fd); err == nil && strings.HasSuffix(to, "/mem") {
				n++
			}
		}
		return n
	}
	before := memories()
	none := "EAGAIN false false"
	if got := receives("recvfrom", 1, 16, dontWait); got != none {
		t.Errorf("before there is one: %s", got)
	}
	if err := unix.SetNonblock(pair[0], true); err != nil {
		t.Fatal(err)
	}
	if got := receives("recvfrom", 1, 16, 0); got != none {
		t.Errorf("by a socket that does not wait: %s", got)
	}
	if err := unix.SetNonblock(pair[0], false); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what     string
		iovecs   uint64
		nameRoom int32
		flags    uint64
		want     string
		takes    bool
	}{
		{"recvfrom", 1, 16, 0, `4 "answ"`, true},
		{"recvfrom", 1, 16, peek, `4 "answ"`, false},
		{"recvfrom", 1, 16, trunc, `6 "answ"`, true},
		{"recvfrom", 1, 16, errors, none, false},
		{"recvmsg", 1, 16, 0, `4 "answ" flags 0x20 control 0 name 16 192.0.2.53:53`, true},
		{"recvmsg", 1, 16, trunc, `6 "answ" flags 0x20 control 0 name 16 192.0.2.53:53`, true},
		{"recvmsg", 1, 6, 0, `4 "answ" flags 0x20 control 0 name 16 192.0.0.0:53`, true},
		{"recvmsg", 1, -1, 0, `4 "answ" flags 0x20 control 0 name 16 invalid AddrPort`, true},
		{"recvmsg", 1, 1 << 20, 0, `4 "answ" flags 0x20 control 0 name 16 192.0.2.53:53`, true},
		{"recvmsg", 0, 16, 0, `0 "" flags 0x20 control 0 name 16 192.0.2.53:53`, true},
		{"recvmsg", maxMessages + 1, 16, 0, "EMSGSIZE false false", false},
		{"recvmsg", 1 << 62, 16, 0, "EMSGSIZE false false", false},
		{"recvmmsg", 1, 16, 0, `1 "answ" flags 0x20 control 0 name 16 192.0.2.53:53 of 4`, true},
	} {
		if err := unix.Send(pair[1], []byte("answer"), 0); err != nil {
			t.Fatal(err)
		}
		if got := receives(c.what, c.iovecs, c.nameRoom, c.flags); got != c.want {
			t.Errorf("%s, %d pieces, room for a name %d, flags %#x: %s, want %s", c.what, c.iovecs, c.nameRoom, c.flags, got, c.want)
		}
		_, _, err := unix.Recvfrom(pair[0], make([]byte, 16), unix.MSG_DONTWAIT)
		if took := err == unix.EAGAIN; took != c.takes {
			t.Errorf("%s, %d pieces, flags %#x: the answer is taken: %t", c.what, c.iovecs, c.flags, took)
		}
	}
	if after := memories(); after != before {
		t.Errorf("%d of the memories that were written to are still open", after-before)
	}
}
