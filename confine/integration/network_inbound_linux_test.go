package integration

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

var givenPorts sync.Map

// freePort returns a port of the loopback that no process listens on, and that no other call
// returned. The kernel gives a port that was closed again.
func freePort(t testing.TB) int {
	t.Helper()
	for {
		l := testkit.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
		port := l.Addr().(*net.TCPAddr).Port
		l.Close()
		if _, given := givenPorts.LoadOrStore(port, true); !given {
			return port
		}
	}
}

// call says something and reads the answer.
func call(address, word string) (string, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(testkit.Patience))
	if _, err := io.WriteString(c, word); err != nil {
		return "", err // a reset is reported once, so the read would find an end
	}
	c.(*net.TCPConn).CloseWrite()
	b, err := io.ReadAll(c)
	return string(b), err
}

// TestJailInbound: connections to a port of the host's loopback reach the server, more of them
// than there were sockets at first. While the server does not listen they are refused.
func TestJailInbound(t *testing.T) {
	jailtest.Needs(t)
	for _, listens := range []string{"127.0.0.1", "[::1]", "0.0.0.0", "[::]"} {
		t.Run(listens, func(t *testing.T) {
			const calls = 3 * spec.InboundSockets
			port := freePort(t)
			p := jailtest.Profile(t)
			p.Inbound = []int{port}
			inside := fmt.Sprintf("%s:%d", listens, port)
			s := jailtest.Begin(t, p, attacker.Try("callback", inside, fmt.Sprint(calls)))
			s.Out.Await(t, "listening")
			if ports, known := s.Listening(); !known || !slices.Equal(ports, []int{53, port}) { // 53 is the resolver
				t.Errorf("listens at %d, %v; want 53 and %d", ports, known, port)
			}
			for i := range calls {
				host := []string{"127.0.0.1", "[::1]"}[i%2]
				word := fmt.Sprint("word", i)
				if got, err := call(fmt.Sprintf("%s:%d", host, port), word); err != nil || got != "heard "+word {
					t.Fatalf("call %d: %q, %v", i, got, err)
				}
			}
			testkit.Equal(t, "", s.Finish(), (confine.Exit{}))
			if ports, known := s.Listening(); known {
				t.Errorf("after its end it listens at %d", ports)
			}
			if _, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port)); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("after its end: %v", err)
			}
		})
	}
}

// TestJailInboundLastBytesArrive: what a server has sent arrives, even if the server has ended
// since.
func TestJailInboundLastBytesArrive(t *testing.T) {
	jailtest.Needs(t)
	const size = 1 << 20
	port := freePort(t)
	p := jailtest.Profile(t)
	p.Inbound = []int{port}
	address := fmt.Sprint("127.0.0.1:", port)
	s := jailtest.Begin(t, p, attacker.Try("parting", address, fmt.Sprint(size)))
	s.Out.Await(t, "listening")
	c := testkit.Get(net.Dial("tcp", address))(t)
	defer c.Close()
	s.Out.Await(t, "answered")
	testkit.Eventually(t, "the port is the host's again", func() bool {
		other, err := net.Dial("tcp", address)
		if err == nil {
			other.Close()
		}
		return errors.Is(err, syscall.ECONNREFUSED)
	})
	testkit.Equal(t, "of … bytes, and then", testkit.Get(io.Copy(io.Discard, c))(t), size)
	testkit.Equal(t, "", s.Finish(), (confine.Exit{}))
}

// TestJailInboundOnly: no other port of the host leads into the jail, and an inbound port leads
// nowhere else. If the server does not listen, the port refuses.
func TestJailInboundOnly(t *testing.T) {
	jailtest.Needs(t)
	port, other := freePort(t), freePort(t)
	p := jailtest.Profile(t)
	p.Inbound = []int{port}
	service := testkit.Accept(t, "tcp", "127.0.0.1:0")
	s := jailtest.Begin(t, p, attacker.Try("dial", "tcp", service), attacker.Try("callback", fmt.Sprint("127.0.0.1:", other), "1"))
	s.Out.Await(t, "listening")
	if _, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", other)); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a port that is not inbound: %v", err)
	}
	if got, err := call(fmt.Sprint("127.0.0.1:", port), "word"); err == nil {
		t.Errorf("an inbound port where the server does not listen: %q", got)
	}
	s.Kill()
	s.Finish()
}

// TestJailInboundBinds: a bind of an inbound port has the outcome that it has without a jail, also if another program
// of this machine has the port.
func TestJailInboundBinds(t *testing.T) {
	jailtest.Needs(t)
	p := jailtest.Profile(t)
	rows := testkit.TableIn[struct{ held, bind, want, inside string }](t, tables, "inbound-binds.txt")
	var attempts []attacker.Attempt
	for _, c := range rows {
		port := freePort(t)
		number := fmt.Sprint(port)
		attempts = append(attempts, strings.Fields(strings.ReplaceAll(c.bind, "PORT", number)))
		if c.held != "" {
			testkit.Accept(t, "tcp", strings.ReplaceAll(c.held, "PORT", number))
		}
		p.Inbound = append(p.Inbound, port)
	}
	slices.Sort(p.Inbound)
	free, inside := jailtest.Unconfined(t, "/", attempts...), jailtest.Attempts(t, p, attempts...)
	for i, c := range rows {
		testkit.Equal(t, fmt.Sprint(c.held, " ", attempts[i], ", without a jail"), free[i], c.want)
		testkit.Equal(t, fmt.Sprint(c.held, " ", attempts[i], ", in a jail"), inside[i], cmp.Or(c.inside, c.want))
	}
}

// TestJailInboundWhenBound: a port of this machine is free until the server binds it, and then until the server ends. A
// bind of something else takes nothing.
func TestJailInboundWhenBound(t *testing.T) {
	jailtest.Needs(t)
	gate, port, closed, other := freePort(t), freePort(t), freePort(t), freePort(t)
	p := jailtest.Profile(t)
	p.Inbound = []int{gate, port, closed}
	at := func(port int) string { return fmt.Sprint("127.0.0.1:", port) }
	s := jailtest.Begin(t, p,
		attacker.Try("bind-port", at(other)), attacker.Try("bind-port", "127.0.0.2:"+strconv.Itoa(port)), attacker.Try("bind-port", at(port), "udp"),
		attacker.Try("callback", at(gate), "1"),
		attacker.Try("bind-port", at(closed), "closed"), attacker.Try("bind-port", at(closed), "closed"),
		attacker.Try("callback", at(port), "1"))
	isFree := func(port int) bool {
		l, err := net.Listen("tcp", at(port))
		if err == nil {
			l.Close()
		}
		return err == nil
	}
	speak := func(port int) {
		t.Helper()
		if got, err := call(at(port), "word"); err != nil || got != "heard word" {
			t.Errorf("%q, %v", got, err)
		}
	}
	s.Out.Await(t, "listening")
	testkit.Equal(t, "free: a port that is not inbound", isFree(other), true)
	testkit.Equal(t, "free: a port that was bound for datagrams, or elsewhere", isFree(port), true)
	testkit.Equal(t, "free: a port that was not bound yet", isFree(closed), true)
	testkit.Equal(t, "free: a port at which the server listens", isFree(gate), false)
	speak(gate)
	s.Out.Await(t, "listening\nlistening")
	testkit.Equal(t, "free: a port that was bound and closed", isFree(closed), false)
	testkit.Equal(t, "free: another port at which the server listens", isFree(port), false)
	speak(port)
	s.Finish()
	testkit.Equal(t, "free after the end", isFree(gate) && isFree(port) && isFree(closed), true)
}

// TestJailInboundUnseenBinds: where mcp-jail sees no call of the server, each port is taken at the start. One that is in
// use is so in the jail as well.
func TestJailInboundUnseenBinds(t *testing.T) {
	jailtest.Needs(t)
	held := portOf(t, testkit.Accept(t, "tcp", "127.0.0.1:0"))
	port := freePort(t)
	p := jailtest.Profile(t)
	p.Inbound = []int{held, port}
	facts := kernel.Detect()
	facts.SeccompNotify = kernel.Unavailable("the test says so", "")
	p = jailtest.Asking(t, p, attacker.Try("bind-port", fmt.Sprint("127.0.0.1:", held)), attacker.Try("callback", fmt.Sprint("127.0.0.1:", port), "1"))
	plan := jailtest.Compile(p, facts)
	if plan.CanWatch() || !slices.ContainsFunc(plan.Notes, func(note string) bool { return strings.Contains(note, "taken at the start") }) {
		t.Errorf("notes %q", plan.Notes)
	}
	r, w, err := os.Pipe()
	testkit.Must(t, err)
	defer r.Close()
	process := testkit.Get(confine.Launcher{}.StartPlan(t.Context(), plan, confine.Stdio{Out: w}))(t)
	w.Close()
	out := bufio.NewReader(r)
	testkit.Equal(t, "said", testkit.Get(out.ReadString('\n'))(t), "listening\n")
	if got, err := call(fmt.Sprint("127.0.0.1:", port), "word"); err != nil || got != "heard word" {
		t.Errorf("%q, %v", got, err)
	}
	testkit.Equal(t, "outcomes", strings.TrimSpace(string(testkit.Get(io.ReadAll(out))(t))), `["EADDRINUSE","ok word"]`)
	process.Wait()
}

// TestJailInboundFreed: a port that was in use can be bound when the other program has ended.
func TestJailInboundFreed(t *testing.T) {
	jailtest.Needs(t)
	l := testkit.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	address := l.Addr().String()
	p := jailtest.Profile(t)
	p.Inbound = []int{l.Addr().(*net.TCPAddr).Port}
	s := jailtest.Begin(t, p, attacker.Try("bind-port", address, "patient", "closed"), attacker.Try("callback", address, "1"))
	s.Out.Await(t, "in use")
	if ports, known := s.Listening(); !known || !slices.Equal(ports, []int{53}) {
		t.Errorf("the server listens at %d, %v, and it has no listener", ports, known)
	}
	l.Close()
	s.Out.Await(t, "listening")
	if got, err := call(address, "word"); err != nil || got != "heard word" {
		t.Errorf("%q, %v", got, err)
	}
	s.Finish()
}

// TestJailInboundSessions: what another session of the server has is in use, and is reached from the jail. What any
// other program has is in use, and is not.
func TestJailInboundSessions(t *testing.T) {
	jailtest.Needs(t)
	records := func(name string) func() (*os.File, error) {
		name = filepath.Join(t.TempDir(), name)
		return func() (*os.File, error) { return os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600) }
	}
	own, others := records("own"), records("others")
	service := testkit.Accept(t, "tcp", "127.0.0.1:0")
	for name, c := range map[string]struct {
		program     bool // without a jail, it has the port in place of the holder
		holder, own func() (*os.File, error)
		want        string
	}{
		"another session":            {false, own, own, "ok heard word"},
		"another server":             {false, others, own, "ECONNREFUSED"},
		"a session without a record": {false, nil, own, "ECONNREFUSED"},
		"a program":                  {true, nil, own, "ECONNREFUSED"},
		"no record":                  {false, own, nil, "ECONNREFUSED"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := service
			if !c.program {
				address = fmt.Sprint("127.0.0.1:", freePort(t))
			}
			p := jailtest.Profile(t)
			p.Inbound = []int{portOf(t, address)}
			if !c.program {
				first := jailtest.BeginBy(t, confine.Launcher{Ports: confine.NewPorts(c.holder)}, p, attacker.Try("callback", address, "3"))
				first.Out.Await(t, "listening")
			}
			ports := confine.NewPorts(c.own)
			tries := []attacker.Attempt{attacker.Try("visit", address, "word"), attacker.Try("bind-port", address), attacker.Try("visit", address, "word"), attacker.Try("bind-port", address, "reuse")}
			got := testkit.Get(jailtest.Run(t, confine.Launcher{Ports: ports}, p, tries))(t)
			testkit.Equal(t, "in a jail", got, []attacker.Outcome{c.want, "EADDRINUSE", c.want, "EADDRINUSE"})
			testkit.Equal(t, "it leads elsewhere", ports.Elsewhere(p.Inbound[0]), c.want != "ECONNREFUSED")
			if !c.program { // the control: the port is open
				if got, err := call(address, "word"); err != nil || got != "heard word" {
					t.Errorf("%q, %v", got, err)
				}
			}
		})
	}
}

func portOf(t testing.TB, address string) int {
	t.Helper()
	return int(testkit.Get(netip.ParseAddrPort(address))(t).Port())
}

// TestJailInboundTakenOver: a session that waits for a port of another one has it when that has ended.
func TestJailInboundTakenOver(t *testing.T) {
	jailtest.Needs(t)
	address := fmt.Sprint("127.0.0.1:", freePort(t))
	p := jailtest.Profile(t)
	p.Inbound = []int{portOf(t, address)}
	file := filepath.Join(t.TempDir(), "ports")
	first := jailtest.BeginBy(t, sessionOf(file), p, attacker.Try("callback", address, "1"))
	first.Out.Await(t, "listening")
	second := jailtest.BeginBy(t, sessionOf(file), p, attacker.Try("bind-port", address, "patient", "closed"), attacker.Try("callback", address, "1"))
	second.Out.Await(t, "in use")
	for n, s := range []*jailtest.Started{first, second} {
		t.Run(fmt.Sprint("process ", n+1), func(t *testing.T) {
			s.Out.Await(t, "listening")
			if got, err := call(address, "word"); err != nil || got != "heard word" {
				t.Errorf("%q, %v", got, err)
			}
			testkit.Equal(t, "", s.Finish(), (confine.Exit{}))
		})
	}
}

// sessionOf returns a session of the server that has a file for the locks of its ports.
func sessionOf(file string) confine.Launcher {
	return confine.Launcher{Ports: confine.NewPorts(func() (*os.File, error) { return os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600) })}
}

// TestJailInboundConnected: a connection to another session, which that has ended and this one keeps, is not in the way
// of a bind that reuses the address.
func TestJailInboundConnected(t *testing.T) {
	jailtest.Needs(t)
	address := fmt.Sprint("127.0.0.1:", freePort(t))
	p := jailtest.Profile(t)
	p.Inbound = []int{portOf(t, address)}
	file := filepath.Join(t.TempDir(), "ports")
	first := jailtest.BeginBy(t, sessionOf(file), p, attacker.Try("parting", address, "1"))
	first.Out.Await(t, "listening")
	second := jailtest.BeginBy(t, sessionOf(file), p, attacker.Try("stay", address), attacker.Try("bind-port", address, "reuse", "patient", "closed"), attacker.Try("callback", address, "1"))
	first.Finish()
	second.Out.Await(t, "listening")
	if got, err := call(address, "word"); err != nil || got != "heard word" {
		t.Errorf("%q, %v", got, err)
	}
	testkit.Equal(t, "", second.Finish(), (confine.Exit{}))
}

// TestJailInboundSuccession: of two processes of one session both bind a port. It leads to the first one and, when that
// has ended, to the second, without a moment in which it is free.
func TestJailInboundSuccession(t *testing.T) {
	jailtest.Needs(t)
	port := freePort(t)
	address := fmt.Sprint("127.0.0.1:", port)
	p := jailtest.Profile(t)
	p.Inbound = []int{port}
	l := confine.Launcher{Ports: confine.NewPorts(nil)}
	begin := func() *jailtest.Started {
		s := jailtest.BeginBy(t, l, p, attacker.Try("callback", address, "1"))
		s.Out.Await(t, "listening")
		return s
	}
	first := begin()
	second := begin()
	for n, s := range []*jailtest.Started{first, second} {
		t.Run(fmt.Sprint("process ", n+1), func(t *testing.T) {
			if ports, known := s.Listening(); !known || !slices.Equal(ports, []int{53, port}) {
				t.Errorf("listens at %d, %v; want 53 and %d", ports, known, port)
			}
			if got, err := call(address, "word"); err != nil || got != "heard word" {
				t.Errorf("%q, %v", got, err)
			}
			testkit.Equal(t, "", s.Finish(), (confine.Exit{})) // and not the other one
		})
	}
	if _, err := net.Dial("tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after their end: %v", err)
	}
}
