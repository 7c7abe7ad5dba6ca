package egress

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress/egresstest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// openssl is a running `openssl s_server`.
type openssl struct {
	at    string
	lines chan string // that it writes
}

// startOpenSSL starts a server that asks for another key than crypto/tls offers first.
func startOpenSSL(t *testing.T) *openssl {
	for _, program := range []string{"openssl", "stdbuf"} {
		if _, err := exec.LookPath(program); err != nil {
			testkit.Skip(t, "openssl", "%v (Debian: apt-get install openssl coreutils)", err)
		}
	}
	dir := t.TempDir()
	testkit.Must(t, egresstest.Certify(dir, "api.test", "bad.test"))
	s := &openssl{at: "198.51.100.7:443", lines: make(chan string, 1000)}
	certificate, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	cmd := exec.Command("stdbuf", "-oL", "openssl", "s_server", "-accept", s.at, "-cert", certificate, "-key", key, "-cert2", certificate, "-key2", key,
		"-servername", "bad.test", "-groups", "P-384", "-cipher", "ALL:@SECLEVEL=0", "-msg")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe() // it reads commands, and ends with them
	testkit.Must(t, err)
	out := testkit.Get(cmd.StdoutPipe())(t)
	cmd.Stderr = cmd.Stdout
	testkit.Must(t, cmd.Start())
	go func() {
		defer close(s.lines)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			if !strings.HasPrefix(scan.Text(), "    ") { // the bytes of messages
				s.lines <- scan.Text()
			}
		}
	}()
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		for range s.lines {
		}
		cmd.Wait()
	})
	s.until(t, "ACCEPT")
	return s
}

// until returns the server names that openssl reads before it writes a line, and whether it answers
// a handshake meanwhile.
func (s *openssl) until(t *testing.T, line string) (names []string, answered bool) {
	t.Helper()
	for late := time.After(patience); ; {
		select {
		case l, ok := <-s.lines:
			if !ok {
				t.Fatal("openssl has ended")
			}
			if _, name, ok := strings.Cut(l, "Hostname in TLS extension: "); ok {
				names = append(names, strings.Trim(name, `"`))
			}
			answered = answered || strings.HasPrefix(l, ">>>") && strings.HasSuffix(l, "ServerHello")
			if l == line {
				return names, answered
			}
		case <-late:
			t.Fatalf("openssl does not write %q", line)
		}
	}
}

// converse sends the parts of a stream, each after an answer to the one before, and returns what
// openssl made of it.
func (s *openssl) converse(t *testing.T, c *net.TCPConn, parts ...[]byte) (names []string, answered bool) {
	t.Helper()
	c.SetDeadline(time.Now().Add(patience))
	for i, part := range parts {
		if i > 0 {
			c.Read(make([]byte, 1))
		}
		c.Write(part)
	}
	c.CloseWrite()
	io.Copy(io.Discard, c)
	c.Close()
	return s.until(t, "CONNECTION CLOSED")
}

// direct is converse without a Gateway between.
func (s *openssl) direct(t *testing.T, parts ...[]byte) (names []string, answered bool) {
	t.Helper()
	c := testkit.Get(net.Dial("tcp", s.at))(t)
	return s.converse(t, c.(*net.TCPConn), parts...)
}

// check sends a stream by way of a Gateway that grants api.test.
func (s *openssl) check(t *testing.T, what string, pass bool, parts ...[]byte) {
	t.Helper()
	g, _ := testGateway(t, map[string][]string{"api.test": {"198.51.100.7"}}, allow("api.test"))
	names, answered := s.converse(t, client(t, g, resolve(t, g, "api.test").String()+":443"), parts...)
	if areWrong(names, answered) || pass != (len(g.Denials()) == 0) {
		t.Errorf("%s: openssl reads %q through the gateway (an answer: %v), which refused %+v", what, names, answered, g.Denials())
	}
}

// areWrong reports whether a server that read these names may answer for another host than api.test.
func areWrong(names []string, answered bool) bool {
	return answered && len(names) == 0 || slices.ContainsFunc(names, func(n string) bool {
		name, err := policy.NormalizeTarget(n)
		return err != nil || name != "api.test"
	})
}

// TestOpenSSL tests that no client can make openssl read another name than the granted one through
// the Gateway. Without the Gateway, openssl reads the other names.
func TestOpenSSL(t *testing.T) {
	s := startOpenSSL(t)
	good, again := retries(t, "api.test")
	evil := bytes.ReplaceAll(again, []byte("api.test"), []byte("bad.test"))
	change := slices.Clone(again[:tlsRecordHeader+1]) // of the ciphers, which precedes it
	bare := evil[len(change):]
	for _, c := range []struct {
		what  string
		parts [][]byte
		names []string // as openssl reads them without a Gateway
		pass  bool
	}{
		{"a ClientHello", [][]byte{good}, []string{"api.test"}, true},
		{"in records of 100", [][]byte{records(good, 100)}, []string{"api.test"}, true},
		{"a second one", [][]byte{good, again}, []string{"api.test", "api.test"}, true},
		{"a second one, with another name", [][]byte{good, evil}, []string{"api.test", "bad.test"}, false},
		{"a second one before it is asked for", [][]byte{slices.Concat(good, evil)}, []string{"api.test", "bad.test"}, false},
		{"a second one alone", [][]byte{good, bare}, []string{"api.test", "bad.test"}, false},
		{"a second one in small records", [][]byte{good, slices.Concat(change, records(bare, 50))}, []string{"api.test", "bad.test"}, false},
		{"another name", [][]byte{hello(t, "bad.test")}, []string{"bad.test"}, false},
		{"in the format of SSLv2", [][]byte{[]byte(oldTLS)}, nil, false},
	} {
		if names, _ := s.direct(t, c.parts...); !slices.Equal(names, c.names) {
			t.Errorf("%s: openssl reads %q", c.what, names)
		}
		s.check(t, c.what, c.pass, c.parts...)
	}
}

// TestOpenSSLMutations is TestOpenSSL with handshakes that are changed at random.
func TestOpenSSLMutations(t *testing.T) {
	s := startOpenSSL(t)
	random := rand.New(rand.NewPCG(7, 9))
	seeds := helloSeeds(t)
	wrong, right, rounds := 0, 0, 60
	if testkit.Long() {
		rounds = 600
	}
	for range rounds {
		stream := bytes.Clone(seeds[random.IntN(len(seeds))])
		for range 1 + random.IntN(2) {
			stream = mutateHello(random, stream)
		}
		switch names, answered := s.direct(t, stream); {
		case areWrong(names, answered):
			wrong++
			s.check(t, fmt.Sprintf("%q", stream), false, stream)
		case answered:
			right++
		}
	}
	t.Logf("%d of %d streams have another name for openssl, %d the granted one", wrong, rounds, right)
	if wrong == 0 || right == 0 {
		t.Error("openssl took none of one kind")
	}
}
