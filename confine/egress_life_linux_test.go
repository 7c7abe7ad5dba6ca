package confine

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
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/egress/egresstest"
	"github.com/mcp-jail/mcp-jail/confine/stub"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// streamVerbs hold connections, or make many.
func streamVerbs() map[string]func([]string) (string, error) {
	return map[string]func([]string) (string, error){
		"hold": silent(func(a []string) error {
			c, err := net.Dial("tcp", a[0])
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, c)
			return err
		}),
		"many": func(a []string) (string, error) { // a[0] connections, a[1] at once, to a[2]
			var wg sync.WaitGroup
			todo, failures := make(chan struct{}), make(chan error, number(a[0]))
			for range number(a[1]) {
				wg.Go(func() {
					for range todo {
						if got, err := greetingVerbs()["greeted"](a[2:]); err != nil || got == "" {
							failures <- fmt.Errorf("%q, %v", got, err)
						}
					}
				})
			}
			for range number(a[0]) {
				todo <- struct{}{}
			}
			close(todo)
			wg.Wait()
			close(failures)
			n := len(failures)
			return strconv.Itoa(n) + " failed", <-failures
		},
		"last-words": silent(func(a []string) error { // sends a[1] bytes, and waits for nothing
			c, err := net.Dial("tcp", a[0])
			if err != nil {
				return err
			}
			_, err = c.Write(make([]byte, number(a[1])))
			return err
		}),
		"slow-memory": silent(probeSlowMemory),
		"halves": func(a []string) (string, error) { // sends, shuts its side, then reads
			c, err := net.Dial("tcp", a[0])
			if err != nil {
				return "", err
			}
			defer c.Close()
			sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
			go func() {
				c.Write(sent)
				c.(*net.TCPConn).CloseWrite()
			}()
			got, err := io.ReadAll(c)
			if err == nil && !bytes.Equal(got, sent) {
				err = fmt.Errorf("%d bytes came back of %d", len(got), len(sent))
			}
			return "", err
		},
	}
}

func localhost(port int) policy.NetRule {
	return policy.NetRule{Host: "localhost", Scheme: "tcp", Port: port, Allow: true}
}

// TestWorldMany: none of many connections is lost, and nothing of them stays.
func TestWorldMany(t *testing.T) {
	inWorld(t)
	port := hostService(t, "127.0.0.1:0")
	p := gatedProfile(t, localhost(port))
	stub.Program() // stays open
	before := descriptorsOpen(t)
	got := jailed(t, p, "many", "10000", "200", fmt.Sprint("127.0.0.1:", port))
	expect(t, "10,000 connections", got, "ok 0 failed")
	testkit.Eventually(t, "the launcher's descriptors are as many as before", func() bool {
		runtime.GC() // frees the pipes that package net keeps for splicing
		return descriptorsOpen(t) <= before
	})
}

func descriptorsOpen(t testing.TB) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// TestWorldHalves: one side of a connection can be shut while the other goes on.
func TestWorldHalves(t *testing.T) {
	inWorld(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go egresstest.Serve(l, func(c net.Conn) { io.Copy(c, c) })
	p := gatedProfile(t, localhost(l.Addr().(*net.TCPAddr).Port))
	expect(t, "1 MB there and back", jailed(t, p, "halves", l.Addr().String()), "ok")
}

// TestWorldLastWords: what a program sent just before it ended arrives, although the host
// takes its time.
func TestWorldLastWords(t *testing.T) {
	inWorld(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const size = 200 << 10
	got := make(chan string, 1)
	go egresstest.Serve(l, func(c net.Conn) {
		time.Sleep(100 * time.Millisecond)
		n, err := io.Copy(io.Discard, c)
		got <- fmt.Sprint(n, " bytes, ", err)
	})
	p := gatedProfile(t, localhost(l.Addr().(*net.TCPAddr).Port))
	expect(t, "sending", jailed(t, p, "last-words", l.Addr().String(), strconv.Itoa(size)), "ok")
	if n := <-got; n != fmt.Sprint(size, " bytes, ", nil) {
		t.Errorf("%s of %d", n, size)
	}
}

// TestWorldLauncherIsKilled: with the launcher every connection of the jail ends.
func TestWorldLauncherIsKilled(t *testing.T) {
	inWorld(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := gatedProfile(t, localhost(l.Addr().(*net.TCPAddr).Port))
	p.Argv = append(p.Argv, probeArgs(t, []attempt{try("hold", l.Addr().String())})...)
	var order bytes.Buffer
	if err := gob.NewEncoder(&order).Encode([]*policy.Profile{p}); err != nil {
		t.Fatal(err)
	}
	pipe := newWitness(t)
	cmd := exec.Command(testBinary)
	cmd.Args = []string{launcherName}
	cmd.Stdin = &order
	cmd.ExtraFiles = []*os.File{pipe.w}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the control: the connection is not held: %v", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection outlived the launcher: %v", err)
	}
	pipe.gone(t)
}

// probeSlowMemory receives datagrams, many at a time, while the memory that they are
// to be put into is locked most of the time.
func probeSlowMemory(a []string) error {
	memory, err := unix.Mmap(-1, 0, 4<<30, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return err
	}
	unix.Madvise(memory, unix.MADV_NOHUGEPAGE)
	if err := unix.Madvise(memory, unix.MADV_POPULATE_READ); err != nil {
		return err
	}
	received := make(chan error)
	var fds []int
	for range number(a[0]) {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		fds = append(fds, fd)
		go func() {
			_, _, err := unix.Recvfrom(fd, make([]byte, 512), 0)
			received <- err
		}()
	}
	fmt.Fprintln(os.Stderr, "ready")
	time.Sleep(200 * time.Millisecond)
	go func() {
		for protection := unix.PROT_NONE; ; protection ^= unix.PROT_READ {
			unix.Mprotect(memory, protection)
		}
	}()
	query := []byte("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04good\x04test\x00\x00\x01\x00\x01")
	for _, fd := range fds {
		if err := unix.Sendto(fd, query, 0, &unix.SockaddrInet4{Port: 53, Addr: [4]byte{198, 51, 100, 53}}); err != nil {
			return err
		}
	}
	for range fds {
		if err := <-received; err != nil {
			return err
		}
	}
	return nil
}

// TestWorldThreads: the supervisor has the threads that it needs from the beginning,
// whatever the server has it wait for. There may be no more (RLIMIT_NPROC), and
// the Go runtime ends over that.
func TestWorldThreads(t *testing.T) {
	inWorld(t)
	s := beginWith(t, worldLauncher(), gatedProfile(t, host("good.test")), try("slow-memory", "40"))
	threads := func() int {
		names, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", s.PID()))
		return len(names)
	}
	s.errs.await(t, "ready")
	testkit.Eventually(t, "the supervisor", func() bool { return threads() >= 8 })
	before, most := threads(), 0
	for {
		select {
		case <-s.Done():
			s.finish()
			if before == 0 || most > before {
				t.Errorf("%d threads of the supervisor, then %d", before, most)
			}
			expect(t, "datagrams", outcomes(t, []attempt{try("slow-memory", "40")}, s.out.Bytes(), "")[0], "ok")
			return
		default:
			most = max(most, threads())
			time.Sleep(time.Millisecond)
		}
	}
}
