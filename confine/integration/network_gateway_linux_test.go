package integration

import (
	"errors"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// gatedProfile is a profile with granted hosts.
func gatedProfile(t testing.TB, rules ...policy.NetRule) *policy.Profile {
	p := jailtest.Profile(t)
	p.Net = rules
	return p
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
	var se *sys.Error
	if !errors.As(err, &se) || se.Step != sys.Network || se.Errno != syscall.EMFILE {
		t.Errorf("%v, want a refusal at %q for want of descriptors", err, sys.Network)
	}
}
