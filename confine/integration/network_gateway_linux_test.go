package integration

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// gatedProfile is a profile with granted hosts.
func gatedProfile(t testing.TB, rules ...policy.NetRule) *policy.Profile {
	p := jailtest.Profile(t)
	p.Net = rules
	return p
}

// TestJailGateway: a jail with granted hosts has no way out but the sockets that it handed to
// the launcher.
func TestJailGateway(t *testing.T) {
	jailtest.Needs(t)
	tcp := testkit.Accept(t, "tcp", "127.0.0.1:0")
	p := gatedProfile(t, policy.NetRule{Host: "example.org", Allow: true})
	for _, c := range []struct{ attempt, want string }{
		{"dial tcp " + tcp, "ECONNREFUSED"},
		{"dial tcp 198.51.100.1:8123", "ECONNREFUSED"},
		{"dial tcp [2001:db8::1]:8123", "ECONNREFUSED"},
		{"dial tcp 169.254.169.254:8123", "ECONNREFUSED"},
		{"echo-udp 198.51.100.1:443", "ECONNREFUSED"},
		{"loopback", "ok"},
		{fmt.Sprint("socket ", unix.AF_PACKET, unix.SOCK_RAW, 0), "EAFNOSUPPORT"},
	} {
		a := attacker.Attempt(strings.Fields(c.attempt))
		jailtest.Expect(t, c.attempt, jailtest.Attempt(t, p, a[0], a[1:]...), c.want)
	}
}

// TestJailGatewayWithoutDescriptors: a launcher without room for the sockets refuses the start.
func TestJailGatewayWithoutDescriptors(t *testing.T) {
	jailtest.Needs(t)
	p := gatedProfile(t)
	for port := range 300 {
		p.Net = append(p.Net, policy.NetRule{Host: "example.org", Scheme: "tcp", Port: 20000 + port, Allow: true})
	}
	jailtest.Expect(t, "with room", jailtest.Attempt(t, p, "dial", "tcp", "198.51.100.1:9"), "ECONNREFUSED")
	open := descriptorsOpen(t)
	var old syscall.Rlimit
	testkit.Must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old))
	testkit.Must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: uint64(open + 100), Max: old.Max}))
	_, err := confine.Launcher{}.Start(t.Context(), p, jail.Stdio{})
	testkit.Must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old))
	var se *step.Error
	if !errors.As(err, &se) || se.Step != step.Network || se.Errno != syscall.EMFILE {
		t.Errorf("%v, want a refusal at %q for want of descriptors", err, step.Network)
	}
}
