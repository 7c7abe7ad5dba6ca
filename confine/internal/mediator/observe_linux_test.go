package mediator

import (
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/confine/internal/refusals"
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
		r := &request{MediatedCall: calls[i], n: seccomp.Notification{Id: id, Tid: uint32(os.Getpid())}, bases: [2]int{-1, -1}}
		copy(r.n.Args[:], args)
		o.judge.reporter = &refusals.Reporter{Say: func(m spec.Event) { told = append(told, fmt.Sprint(m.Step, " ", m.Detail, " ", m.Target)) }}
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
		what string
		raw  []byte
		size uint64
		want string
	}{
		{"an address elsewhere, which the gateway reports", inet("198.51.100.7:443"), 0, "[]"},
		{"a resolver on this host", inet("127.0.0.53:53"), 0, "[]"},
		{"with an impossible length", local(dir + "/nowhere"), rest, "[ipc connect " + dir + "/nowhere]"},
		{"a length of one", local(dir + "/nowhere"), 1, "[]"},
		{"a socket that is nowhere", local(dir + "/a/../nowhere\x00"), 0, "[ipc connect " + dir + "/nowhere]"},
		{"without an end", local(dir + "/nowhere"), 0, "[ipc connect " + dir + "/nowhere]"},
		{"a socket that is there", local(dir + "/there\x00"), 0, "[]"},
		{"a socket that is hidden", local(dir + "/hidden\x00"), 0, "[ipc connect " + dir + "/hidden]"},
		{"one that is hidden, by a link", local(dir + "/link\x00"), 0, "[ipc connect " + dir + "/hidden]"},
		{"one that is hidden, relative", local("./hidden\x00"), 0, "[ipc connect " + dir + "/hidden]"},
		{"one that is there, relative", local("there\x00"), 0, "[]"},
		{"below what is no directory", local(dir + "/there/x\x00"), 0, "[]"},
		{"abstract", local("\x00name"), 0, "[]"},
		{"relative", local("nowhere\x00"), 0, "[]"},
		{"libc's", local("/var/run/nscd/socket\x00"), 0, "[]"},
		{"another family", []byte{unix.AF_NETLINK, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0, "[]"},
	} {
		size := c.size
		if size == 0 {
			size = uint64(len(c.raw))
		}
		b := make([]byte, 256)
		copy(b, c.raw)
		var pinned runtime.Pinner
		pinned.Pin(&b[0])
		got := observed(&observer{judge: &judge{profile: profile}}, 0, "connect", 0, uint64(uintptr(unsafe.Pointer(&b[0]))), size)
		pinned.Unpin()
		testkit.Equal(t, c.what, fmt.Sprint(got), c.want)
	}
}
