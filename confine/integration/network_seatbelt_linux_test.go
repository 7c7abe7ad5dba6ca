//go:build seatbelt

package integration

import (
	"io"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/egress/intercept"
	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/sandboxexec"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/fakesandbox"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// inWorldSeatbelt are the tests that TestSeatbeltEgress runs, each with what it shows there. Nothing
// keeps a program from going past the proxy here, so no test is about one that does.
var inWorldSeatbelt = map[string]string{
	"TestNetworkClients":            "the variables of the proxy, and what is recorded about a host that is not granted",
	"TestNetworkRequests":           "the authority of a jail, and rules about requests",
	"TestNetworkSecret":             "placeholders, and the values in their place",
	"TestNetworkSecretMissing":      "a secret that cannot be read",
	"TestNetworkServerDoesNotRead":  "the end of a session whose process that ends TLS has stopped",
	"TestNetworkSeatbeltRules":      "kinds of rules, and their denials",
	"TestNetworkSeatbeltPassword":   "the password, and the end of the proxy",
	"TestNetworkSeatbeltConfines":   "mcp-jail-tls starts under its own text, or not at all",
	"TestNetworkSeatbeltOwnSetting": "a variable that a rule sets",
	"TestNetworkSeatbeltLimits":     "limits of connections and bytes",
}

// TestSeatbeltEgress runs the tests of granted hosts in a world of their own, as TestEgress does.
func TestSeatbeltEgress(t *testing.T) {
	jailtest.Needs(t)
	if _, err := exec.LookPath("ip"); err != nil {
		testkit.Skip(t, "clients", "%v", err)
	}
	home, err := os.MkdirTemp(filepath.Dir(jailtest.Binary), "network-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Link(jailtest.Binary, filepath.Join(home, tlsworker.Name)); err != nil {
		t.Fatal(err)
	}
	names := "^(" + strings.Join(slices.Sorted(maps.Keys(inWorldSeatbelt)), "|") + ")$"
	if only := os.Getenv("MCPJAIL_TEST_NETWORK_RUN"); only != "" {
		names = only
	}
	cmd := exec.Command(jailtest.Binary)
	cmd.Args = []string{networkName, jailtest.Binary, "-test.run=" + names, "-test.timeout=10m", "-test.v"}
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "MCPJAIL_TEST_BINARY="+jailtest.Binary, "TMPDIR="+home, "HOME="+home, networkEnv+"="+home, "MCPJAIL_TEST_NETWORK_USER=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNET | unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	for name := range inWorldSeatbelt {
		if os.Getenv("MCPJAIL_TEST_NETWORK_RUN") == "" && !strings.Contains(string(out), "--- PASS: "+name+" ") {
			t.Errorf("%s has not passed", name)
		}
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// standIns runs what this binary stands for, if it was started as that: the program that confines
// mcp-jail-tls, and mcp-jail-tls itself.
func standIns() {
	if os.Args[0] == sandboxexec.Path { // which confines servers
		return
	}
	fakesandbox.Main(tlsworker.Name)
	if os.Args[0] != tlsworker.Name {
		return
	}
	log.SetOutput(io.Discard)
	err := tlsworker.Run(func(rules []policy.NetRule, roots []byte) (tlsworker.Handler, error) {
		return intercept.New(intercept.Options{Rules: rules, MoreRoots: roots, MoreRootsOnly: tlsworker.GivenRootsOnly})
	})
	if err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// confineTLS has mcp-jail-tls confined by the program that stands for sandbox-exec there.
func confineTLS(t testing.TB) {
	t.Helper()
	remove, err := fakesandbox.Install()
	if err != nil {
		t.Fatal(err)
	}
	was := tlsworker.SandboxExec
	tlsworker.SandboxExec = fakesandbox.Path()
	t.Cleanup(func() { tlsworker.SandboxExec = was; remove() })
}
