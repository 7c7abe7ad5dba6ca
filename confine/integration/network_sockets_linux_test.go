package integration

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// What holds of a server's own sockets, where they are not in a network of its own,
// and what programs are told of them. The same in both sorts of jail, but where a row
// says otherwise.

const greets, greetsNot = "198.51.100.10:7000", "198.51.100.20:7000"

func greetingProfile(t testing.TB) *policy.Profile {
	return gatedProfile(t, policy.NetRule{Host: "198.51.100.10", Scheme: "tcp", Port: 7000, Allow: true})
}

// TestNetworkAddressRace: a program that changes an address during the decision connects to the
// address that was decided on. Outside of a jail it reaches either.
func TestNetworkAddressRace(t *testing.T) {
	needsTestNetwork(t)
	service := fmt.Sprint("127.0.0.1:", hostService(t, "127.0.0.1:0"))
	for bad, says := range map[string]string{greetsNot: "hello from 198.51.100.20:", service: "the host's own:"} {
		t.Run(bad, func(t *testing.T) {
			const good = "hello from 198.51.100.10:"
			if control := jailtest.Unconfined(t, "/", attacker.Try("race", greets, bad, "300", "2"))[0]; !strings.Contains(control, good) || !strings.Contains(control, says) {
				t.Fatalf("the control: %s", control)
			}
			outcomes := "1"
			if jailtest.HostNS {
				outcomes = "2"
			}
			got := jailtest.Attempt(t, greetingProfile(t), "race", greets, bad, strconv.Itoa(jailtest.Rounds(1000, 3000)), outcomes)
			if !strings.Contains(got, good) || jailtest.HostNS && !strings.Contains(got, "ECONNREFUSED:") || strings.Contains(got, says) {
				t.Error(got)
			}
			t.Logf("%s", got)
		})
	}
}

// TestNetworkPassedSockets: a socket has the same rights in every process that gets it.
func TestNetworkPassedSockets(t *testing.T) {
	needsTestNetwork(t)
	for _, way := range []string{"dup", "pair", "child", "thread"} {
		for _, to := range []string{greets, greetsNot} {
			t.Run(way+" to "+to, func(t *testing.T) {
				if got := jailtest.Unconfined(t, "/", attacker.Try("handed-on", to, way))[0]; !strings.HasPrefix(got, "ok hello from ") {
					t.Fatalf("the control: %s", got)
				}
				got := jailtest.Attempt(t, greetingProfile(t), "handed-on", to, way)
				if to == greets && got != "ok hello from 198.51.100.10" || to == greetsNot && strings.Contains(got, "hello") {
					t.Error(got)
				}
			})
		}
	}
}

// TestNetworkInterrupted: signals during a connect lose no connection.
func TestNetworkInterrupted(t *testing.T) {
	needsTestNetwork(t)
	jailtest.Expect(t, "300 connections", jailtest.Attempt(t, greetingProfile(t), "interrupt", greets, "300"), "ok map[hello from 198.51.100.10:300]")
}

// TestNetworkNonblockingConnect: a nonblocking connect, and the calls after it, return what a program
// expects. Without namespaces the socket is connected at once.
func TestNetworkNonblockingConnect(t *testing.T) {
	needsTestNetwork(t)
	const kernel = "ok EINPROGRESS 0 ok EISCONN: hello from 198.51.100.10"
	want := kernel
	if jailtest.HostNS {
		want = "ok ok 0 EISCONN EISCONN: hello from 198.51.100.10"
	}
	jailtest.Expect(t, "unconfined", jailtest.Unconfined(t, "/", attacker.Try("nonblock", greets))[0], kernel)
	jailtest.Expect(t, "in the jail", jailtest.Attempt(t, greetingProfile(t), "nonblock", greets), want)
}

// TestNetworkDatagrams: a program that asks a resolver gets one answer, from the address that it
// asked.
func TestNetworkDatagrams(t *testing.T) {
	needsTestNetwork(t)
	for _, c := range []struct{ server, name, answers string }{
		{"198.51.100.53:53", "good.test", "1"}, {"198.51.100.53:53", "other.test", "0"},
		{"8.8.8.8:53", "good.test", "1"}, {"127.0.0.53:53", "good.test", "1"},
	} {
		want := fmt.Sprintf("ok connected %[1]s answers %[2]s, sendto %[1]s answers %[2]s, bound %[1]s answers %[2]s", c.server, c.answers)
		jailtest.Expect(t, c.server+" "+c.name, jailtest.Attempt(t, gatedProfile(t, host("good.test")), "datagrams", c.server, c.name), want)
	}
	got := jailtest.Unconfined(t, "/", attacker.Try("datagrams", "198.51.100.53:53", "other.test"))[0]
	testkit.Contains(t, "the control", got, "connected 198.51.100.53:53 answers 1")
}

// TestNetworkPackets: no UDP packet leaves the jail.
func TestNetworkPackets(t *testing.T) {
	needsTestNetwork(t)
	var got atomic.Int64
	for _, at := range []string{"127.0.0.1:7005", "192.0.2.1:7005"} {
		c := testkit.Get(net.ListenPacket("udp", at))(t)
		defer c.Close()
		go func() {
			for b := make([]byte, 64); ; got.Add(1) {
				if _, _, err := c.ReadFrom(b); err != nil {
					return
				}
			}
		}()
	}
	outside := testkit.Get(net.InterfaceByName("outside"))(t)
	p := gatedProfile(t, policy.NetRule{Host: "127.0.0.1", Scheme: "tcp", Port: 7005, Allow: true}, host("*"))
	for _, to := range []string{"127.0.0.1:7005", "192.0.2.1:7005"} {
		for _, way := range []string{"sendto", "sendmsg", "sendmmsg", "pktinfo", "connected"} {
			before := got.Load()
			index := fmt.Sprint(outside.Index)
			if strings.HasPrefix(to, "127.") {
				index = "1"
			}
			if out := jailtest.Unconfined(t, "/", attacker.Try("packet", to, way, index))[0]; out != attacker.Succeeded {
				t.Errorf("the control of %s: %s", way, out)
			}
			testkit.Eventually(t, "the packet of the control", func() bool { return got.Load() > before })
			time.Sleep(10 * time.Millisecond)
			before = got.Load()
			out, denials := attemptIn(t, p, attacker.Try("packet", to, way, index))
			time.Sleep(10 * time.Millisecond)
			testkit.Equal(t, fmt.Sprintf("%s to %s: it arrived", way, to), got.Load(), before)
			// A message that is sent otherwise is lost, and on no record.
			if jailtest.HostNS && way == "sendto" && (out != "EPERM" || !refusedTarget(denials, "send", to)) {
				t.Errorf("%s to %s: %s, refused %+v", way, to, out, denials)
			}
		}
	}
	const group = "239.255.255.250:1900"
	if _, denials := attemptIn(t, p, attacker.Try("packet", group, "sendto", "1")); !refusedTarget(denials, "send", group) {
		t.Errorf("refused %+v", denials)
	}
}

// TestNetworkOptions: a socket stays bound to lo, and no option makes it connect in another way.
func TestNetworkOptions(t *testing.T) {
	needsTestNetwork(t)
	if !jailtest.HostNS {
		t.Skip("in a network of its own a server may do with its sockets what it likes")
	}
	option := func(level, name, size int) string {
		return fmt.Sprint("option ", unix.AF_INET, " ", level, " ", name, " ", size)
	}
	const any = ""
	for _, c := range []struct{ attempt, control, want string }{
		{option(unix.IPPROTO_TCP, unix.TCP_NODELAY, 4), "ok", "ok"},
		{option(unix.SOL_SOCKET, unix.SO_BINDTODEVICE, 1), "ok", "EPERM"},
		{option(unix.SOL_SOCKET, sys.SoBindToIfindex, 4), "ok", "EPERM"},
		{"source-route 192.0.2.2", any, "ENOPROTOOPT"},
		{option(unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT, 4), "ok", "ENOPROTOOPT"},
		{"listens", "ok", "EACCES"},
		{"fast-open " + greets + " sendto", any, "ENOTSUP"},
	} {
		a := attacker.Attempt(strings.Fields(c.attempt))
		if c.control != any {
			jailtest.Expect(t, "unconfined: "+c.attempt, jailtest.Unconfined(t, "/", a)[0], c.control)
		}
		jailtest.Expect(t, c.attempt, jailtest.Attempts(t, greetingProfile(t), a)[0], c.want)
	}
}

// TestNetworkSupervisorIsKilled: a process that survives the supervisor has no network.
func TestNetworkSupervisorIsKilled(t *testing.T) {
	needsTestNetwork(t)
	if !jailtest.HostNS {
		t.Skip("nothing survives it where there are namespaces")
	}
	s := jailtest.BeginBy(t, jailtest.WaivesGaps, greetingProfile(t), attacker.Try("after-init", "start", greets))
	s.Errs.Await(t, "waits")
	unix.Kill(s.PID(), unix.SIGKILL)
	s.Errs.Await(t, "connect ENOSYS socket ENOSYS sendto ENOSYS")
	s.Finish()
}

// TestNetworkMissingCalls: sockets work the same without namespaces on kernels without the newer
// calls.
func TestNetworkMissingCalls(t *testing.T) {
	needsTestNetwork(t)
	if !jailtest.HostNS {
		t.Skip("TestJailMissingCalls does that")
	}
	own := ownCopy(t)
	for i, f := range lacks() {
		program := filepath.Join(filepath.Dir(own), fmt.Sprint(faultPrefix, len(namespacedFaults())+len(hostNSFaults())+i))
		testkit.Must(t, os.Link(own, program))
		l := jailtest.WaivesGaps
		l.SupervisorPath = program
		got, err := jailtest.Run(t, l, greetingProfile(t), []attacker.Attempt{attacker.Try("greeted", greets), attacker.Try("greeted", greetsNot)})
		if want := "[ok hello from 198.51.100.10 ECONNREFUSED]"; err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v, %v", f.what, got, err)
		}
	}
}

// TestNetworkHostsFile: a lookup that only the launcher may make is not recorded. Other files
// that cannot be read are.
func TestNetworkHostsFile(t *testing.T) {
	needsTestNetwork(t)
	if !jailtest.HostNS {
		t.Skip("the jail has a file of its own there")
	}
	dir := testkit.Plant(t, "place/hidden", "place/shown", "outside")
	p := jailtest.Profile(t, jailtest.Grant{Path: dir + "/place", Rights: r}, jailtest.Grant{Path: dir + "/place/hidden", Rights: 0}) // so that reads are asked for
	p.Net = []policy.NetRule{host("good.test")}
	for name, wanted := range map[string]bool{"/etc/hosts": false, dir + "/outside": true, dir + "/place/hidden": true} {
		got, denials := attemptIn(t, p, attacker.Try("read", name))
		jailtest.Expect(t, name, got, "EACCES")
		reported := slices.ContainsFunc(denials, func(d policy.Denial) bool { return d.Operation == "read" && d.Target == name })
		testkit.Equal(t, fmt.Sprintf("%s: refused %+v", name, denials), reported, wanted)
	}
}
