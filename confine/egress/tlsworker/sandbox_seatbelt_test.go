//go:build linux && seatbelt

package tlsworker_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/egress/intercept"
	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/fakesandbox"
	"github.com/mcp-jail/mcp-jail/policy"
)

// probing is the host of a rule that makes the process try what it must not.
const probing = "probe.invalid"

// prober fails, instead of taking secrets, with what works for it.
type prober struct{ *intercept.Interceptor }

func (prober) SetSecrets(secrets map[string]string) error {
	if secrets == nil {
		return nil
	}
	_, err := os.ReadFile("/etc/passwd")
	return fmt.Errorf("GOMAXPROCS=%s HOME=%s reads: %v", os.Getenv("GOMAXPROCS"), os.Getenv("HOME"), err)
}

func launcher() int {
	for fd := 3; ; fd++ {
		if domain, _ := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN); domain == unix.AF_UNIX {
			return fd
		}
	}
}

func framed(message string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
}

func fakeSandbox() { fakesandbox.Main(tlsworker.Name) }

func runTests(m *testing.M) int {
	remove, err := fakesandbox.Install()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	useFake()
	return m.Run()
}

func useFake() { tlsworker.SandboxExec = fakesandbox.Path() }

// TestUnconfined: the process refuses to work unless each of what it must not do is refused. It tells
// which one is not.
func TestUnconfined(t *testing.T) {
	confining := tlsworker.SandboxExec
	defer func() { tlsworker.SandboxExec = confining }()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	try := func(name string, rules []policy.NetRule) error {
		tlsworker.SandboxExec = confining + name
		w, err := tlsworker.Start(tlsworker.Options{Program: self, Rules: rules, Secrets: map[string]string{"T": secret}})
		if err != nil {
			return err
		}
		defer w.Close()
		if rules[0].Host == probing {
			testkit.Eventually(t, "its end", func() bool { return w.Ready() != nil })
		}
		return w.Ready()
	}
	if err := try("", rules()); err != nil {
		t.Errorf("control: %v", err)
	}
	for name, want := range map[string]string{
		"-all": "it is not confined: it can open /", "-open": "it is not confined: it can open /", "-connect": "it is not confined: it can connect to a port",
		"-signal": "it is not confined: it can send a signal to mcp-jail", "-start": "it is not confined: it can start /usr/bin/true",
		"-65": "refuses the rules for mcp-jail-tls (status 65)", "-71": "cannot confine or start it (status 71)",
	} {
		if err := try(name, rules()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	probe := []policy.NetRule{{Host: probing, Methods: []string{"GET"}, Allow: true}}
	if err := try("", probe); err == nil || !strings.Contains(err.Error(), "HOME= reads: open /etc/passwd: operation not permitted") {
		t.Errorf("%v", err)
	}
}
