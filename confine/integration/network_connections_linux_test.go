package integration

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress/egresstest"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

func localhost(port int) policy.NetRule {
	return policy.NetRule{Host: "localhost", Scheme: "tcp", Port: port, Allow: true}
}

// TestNetworkManyConnections: none of many connections is lost, and none leaves a descriptor.
func TestNetworkManyConnections(t *testing.T) {
	needsTestNetwork(t)
	port := hostService(t, "127.0.0.1:0")
	p := gatedProfile(t, localhost(port))
	stub.Program() // stays open
	before := descriptorsOpen(t)
	n := jailtest.Rounds(2000, 10000)
	got := jailtest.Attempt(t, p, "many", strconv.Itoa(n), "200", fmt.Sprint("127.0.0.1:", port))
	jailtest.Expect(t, fmt.Sprint(n, " connections"), got, "ok 0 failed")
	testkit.Eventually(t, "the launcher's descriptors are as many as before", func() bool {
		runtime.GC() // frees the pipes that package net keeps for splicing
		return descriptorsOpen(t) <= before
	})
}

func descriptorsOpen(t testing.TB) int {
	t.Helper()
	names := testkit.Get(os.ReadDir("/proc/self/fd"))(t)
	return len(names)
}

// TestNetworkQueues: the queue of the gateway's listener in the jail has room for a burst of connections, and that
// of the server's own listeners is short.
func TestNetworkQueues(t *testing.T) {
	needsTestNetwork(t)
	if jailtest.HostNS {
		t.Log("there is no network of the jail's own")
		return
	}
	port := hostService(t, "127.0.0.1:0")
	got := jailtest.Attempts(t, gatedProfile(t, localhost(port)), attacker.Try("backlog"), attacker.Try("many", "500", "500", fmt.Sprint("127.0.0.1:", port)))
	jailtest.Expect(t, "the server's own queue", got[0], backlog())
	jailtest.Expect(t, "500 connections at once", got[1], "ok 0 failed")
	queue := 0
	s := jailtest.Begin(t, gatedProfile(t, localhost(port)), attacker.Try("wait"))
	s.Out.Await(t, "ready")
	names := testkit.Get(os.ReadDir("/proc/self/fd"))(t)
	for _, name := range names {
		fd := attacker.Number(name.Name())
		listens, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
		at, _ := unix.Getsockname(fd)
		if to, ok := at.(*unix.SockaddrInet6); err == nil && listens == 1 && ok && to.Port == port && to.Addr == [16]byte{} {
			info := testkit.Get(unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO))(t)
			queue = int(info.Sacked) // which has it for a listener
		}
	}
	if most := attacker.Number(strings.TrimSpace(string(testkit.Get(os.ReadFile("/proc/sys/net/core/somaxconn"))(t)))); queue < min(500, most) {
		t.Errorf("the gateway's has room for %d connections", queue)
	}
}

// TestNetworkHalfClosed: one side of a connection can be shut while the other goes on.
func TestNetworkHalfClosed(t *testing.T) {
	needsTestNetwork(t)
	l := testkit.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	go egresstest.Serve(l, func(c net.Conn) { io.Copy(c, c) })
	p := gatedProfile(t, localhost(l.Addr().(*net.TCPAddr).Port))
	jailtest.Expect(t, "1 MB there and back", jailtest.Attempt(t, p, "halves", l.Addr().String()), "ok")
}

// TestNetworkLastBytesArrive: bytes that a program sends just before it ends arrive, even if the
// host reads slowly.
func TestNetworkLastBytesArrive(t *testing.T) {
	needsTestNetwork(t)
	l := testkit.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	const size = 200 << 10
	got := make(chan string, 1)
	go egresstest.Serve(l, func(c net.Conn) {
		time.Sleep(100 * time.Millisecond)
		n, err := io.Copy(io.Discard, c)
		got <- fmt.Sprint(n, " bytes, ", err)
	})
	p := gatedProfile(t, localhost(l.Addr().(*net.TCPAddr).Port))
	jailtest.Expect(t, "sending", jailtest.Attempt(t, p, "last-words", l.Addr().String(), strconv.Itoa(size)), "ok")
	testkit.Equal(t, fmt.Sprintf("of %d", size), <-got, fmt.Sprint(size, " bytes, ", nil))
}

// TestNetworkLauncherIsKilled: every connection of the jail ends with the launcher.
func TestNetworkLauncherIsKilled(t *testing.T) {
	needsTestNetwork(t)
	l := testkit.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	p := gatedProfile(t, localhost(l.Addr().(*net.TCPAddr).Port))
	p.Argv = append(p.Argv, jailtest.Args(t, []attacker.Attempt{attacker.Try("hold", l.Addr().String())})...)
	var order bytes.Buffer
	testkit.Must(t, gob.NewEncoder(&order).Encode([]*policy.Profile{p}))
	pipe := newWitness(t)
	cmd := exec.Command(jailtest.Binary)
	cmd.Args = []string{launcherName}
	cmd.Stdin = &order
	cmd.ExtraFiles = []*os.File{pipe.w}
	testkit.Must(t, cmd.Start())
	c := testkit.Get(l.Accept())(t)
	defer c.Close()
	c.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the control: the connection is not held: %v", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	c.SetReadDeadline(time.Now().Add(testkit.Patience))
	if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection outlived the launcher: %v", err)
	}
	pipe.gone(t)
}
