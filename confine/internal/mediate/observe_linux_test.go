package mediate

import (
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
	"golang.org/x/sys/unix"
)

// observed passes a call of this process to o, and returns what it reports.
func observed(o *observer, id uint64, call string, args ...uint64) (told []string) {
	calls := seccomp.MediatedCalls()
	for i := range calls {
		if calls[i].Call != call {
			continue
		}
		r := &Request{MediatedCall: calls[i], N: seccomp.Notification{Id: id, Tid: uint32(os.Getpid())}, bases: [2]int{-1, -1}}
		copy(r.N.Args[:], args)
		o.judge.reporter = &Reporter{Say: func(m spec.Event) { told = append(told, fmt.Sprint(m.Step, " ", m.Detail, " ", m.Target)) }}
		if call == "connect" {
			o.connect(r)
		} else {
			o.exec(r, false)
		}
	}
	return told
}

// TestObserveConnect checks that exactly the connections that the jail refuses are reported, and
// that an address with a wrong length does no harm.
func TestObserveConnect(t *testing.T) {
	dir := testkit.ShortDir(t)
	testkit.Accept(t, "unix", dir+"/there")
	inet := func(at string) []byte { return sys.Sockaddr(netip.MustParseAddrPort(at)) }
	local := func(p string) []byte { return append([]byte{unix.AF_UNIX, 0}, p...) }
	profile := &policy.Profile{Entries: []policy.Entry{{Path: dir, Kind: policy.KindDir, Rights: policy.Read | policy.Write}, {Path: dir + "/hidden", Kind: policy.KindSpecial, Named: resolve.HostSocket}}}
	testkit.Accept(t, "unix", dir+"/hidden")
	testkit.Must(t, os.Symlink("hidden", dir+"/link"))
	t.Chdir(dir)
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
		{"with an impossible length", inet("198.51.100.7:443"), rest, false, "[net connect 198.51.100.7:443]"},
		{"where the gateway reports it", inet("198.51.100.7:443"), 0, true, "[]"},
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
		{"a socket that is hidden", local(dir + "/hidden\x00"), 0, false, "[ipc connect " + dir + "/hidden]"},
		{"one that is hidden, by a link", local(dir + "/link\x00"), 0, false, "[ipc connect " + dir + "/hidden]"},
		{"one that is hidden, relative", local("./hidden\x00"), 0, false, "[ipc connect " + dir + "/hidden]"},
		{"one that is there, relative", local("there\x00"), 0, false, "[]"},
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
		got := observed(&observer{network: c.gated, judge: &judge{profile: profile}}, 0, "connect", 0, uint64(uintptr(unsafe.Pointer(&b[0]))), size)
		pinned.Unpin()
		testkit.Equal(t, c.what, fmt.Sprint(got), c.want)
	}
}
