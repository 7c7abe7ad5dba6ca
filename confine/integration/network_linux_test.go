package integration

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/egress/egresstest"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

// The tests of granted hosts need hosts. They run in a network namespace that stands
// for the host, joined by a pair of interfaces to another that stands for the
// Internet (network_internet_linux_test.go). Both end with the test.

const (
	networkName  = "mcp-jail-network"  // makes them, and becomes the rest of argv in the first
	internetName = "mcp-jail-internet" // serves in the second, until its input ends
	networkEnv   = "MCPJAIL_TEST_NETWORK_DIR"
)

// TestEgress runs the tests of granted hosts as root and as an ordinary user, each with
// and without namespaces. The short form has two of the four, the long form three.
func TestEgress(t *testing.T) {
	jailtest.Needs(t)
	if os.Getuid() != 0 {
		t.Skip("TestEgress of root runs them as an ordinary user as well")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		testkit.Skip(t, "clients", "%v", err)
	}
	programs := networkPrograms(t)
	for _, c := range []struct {
		name   string
		user   int
		forbid string // user namespaces, and by what
		short  bool
		long   bool
	}{
		{"root", 0, "", false, true},
		{"ordinary user", jailtest.OrdinaryUser, "", true, true},
		{"root, without namespaces", 0, "filter", true, false},
		{"ordinary user, without namespaces", jailtest.OrdinaryUser, "filter", false, true},
	} {
		if testkit.Long() && !c.long || !testkit.Long() && !c.short {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			home := testkit.Get(os.MkdirTemp(filepath.Dir(jailtest.Binary), "network-"))(t)
			testkit.Must(t, os.Chmod(home, 0o755))
			for name, program := range programs {
				testkit.Must(t, testkit.WriteProgram(filepath.Join(home, name), program))
			}
			testkit.Must(t, os.Chown(home, c.user, c.user))
			args := []string{jailtest.Binary, "-test.run=^TestNetwork", "-test.timeout=30m", testkit.AtATime()}
			if testing.Verbose() {
				args = append(args, "-test.v")
			}
			if only := os.Getenv("MCPJAIL_TEST_NETWORK_RUN"); only != "" {
				args[1] = "-test.run=" + only
			}
			cmd := exec.Command(jailtest.Binary)
			cmd.Args = append([]string{networkName}, args...)
			cmd.Dir = home
			cmd.Env = append(os.Environ(), "MCPJAIL_TEST_BINARY="+jailtest.Binary, "TMPDIR="+home, "HOME="+home, networkEnv+"="+home, "MCPJAIL_TEST_NETWORK_USER="+strconv.Itoa(c.user))
			if c.forbid != "" {
				cmd.Env = append(cmd.Env, jailtest.ForbidEnv+"="+c.forbid, jailtest.HostNSEnv+"=1")
			}
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			} else {
				t.Logf("%s", out)
			}
		})
	}
}

// cgoSource is a client that looks names up by the C library, from Go.
const cgoSource = `package main

import (
	"io"
	"net/http"
	"os"
)

func main() {
	r, err := http.Get(os.Args[1])
	if err != nil {
		panic(err)
	}
	io.Copy(os.Stdout, r.Body)
}
`

// networkPrograms builds the programs that the tests need, once for all runs, and out here
// where there are modules and a cache. A client in C whose compiler is missing is left out.
func networkPrograms(t *testing.T) map[string][]byte {
	dir := t.TempDir()
	source := filepath.Join(dir, "client.go")
	testkit.Must(t, os.WriteFile(source, []byte(cgoSource), 0o644))
	out := map[string][]byte{}
	for _, p := range []struct{ name, cgo, what string }{{"mcp-jail-tls", "0", "../../cmd/mcp-jail-tls"}, {"go-cgo", "1", source}} {
		build := exec.Command("go", "build", "-tags=netcgo", "-o", filepath.Join(dir, p.name), p.what)
		build.Env = append(os.Environ(), "CGO_ENABLED="+p.cgo)
		said, err := build.CombinedOutput()
		if err == nil {
			out[p.name], err = os.ReadFile(filepath.Join(dir, p.name))
		}
		if err != nil {
			t.Fatalf("%s: %v\n%s", p.name, err, said)
		}
	}
	source = filepath.Join(dir, "client.c")
	testkit.Must(t, os.WriteFile(source, []byte(clientSource), 0o644))
	for _, b := range cBuilds {
		said, err := exec.Command(b.compiler, "-w", b.flag, "-o", filepath.Join(dir, b.file), source).CombinedOutput()
		if err != nil {
			t.Logf("%s: %v\n%s", b.compiler, err, said)
			continue
		}
		if out[b.file], err = os.ReadFile(filepath.Join(dir, b.file)); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// needsTestNetwork skips a test that TestEgress is going to run.
func needsTestNetwork(t testing.TB) {
	if os.Getenv(networkEnv) == "" {
		t.Skip("TestEgress runs this, in namespaces made for it")
	}
	if jailtest.HostNS {
		jailtest.NeedsHostNS(t)
	} else {
		jailtest.Needs(t)
	}
}

func networkLauncher() confine.Launcher {
	if jailtest.HostNS {
		return jailtest.WaivesGaps
	}
	return confine.Launcher{}
}

// runNetwork makes the two namespaces and executes the rest.
func runNetwork(argv []string) {
	runtime.LockOSThread()
	if err := makeNetwork(os.Getenv(networkEnv)); err != nil {
		fmt.Fprintln(os.Stderr, "network:", err)
		os.Exit(1)
	}
	if os.Getenv("MCPJAIL_TEST_NETWORK_USER") != "0" {
		jailtest.RunAsUser(argv)
	}
	fmt.Fprintln(os.Stderr, syscall.Exec(argv[0], argv, os.Environ()))
	os.Exit(1)
}

func makeNetwork(dir string) error {
	if err := errors.Join(
		egresstest.Certify(dir, slices.Collect(maps.Keys(internetHosts))...),
		os.WriteFile(filepath.Join(dir, "resolv.conf"), []byte("nameserver "+egresstest.Resolver+"\n"), 0o644),
	); err != nil {
		return err
	}
	internet := &exec.Cmd{Path: "/proc/self/exe", Args: []string{internetName, dir}, SysProcAttr: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}}
	up, err := egresstest.Start(dir, internet)
	if err != nil {
		return err
	}
	if err := egresstest.IP("link set lo up", fmt.Sprint("link add outside type veth peer name inside netns ", internet.Process.Pid),
		"addr add 192.0.2.1/24 dev outside", "addr add 2001:db8:1::1/64 dev outside nodad", "link set outside up",
		"route add default via 192.0.2.2", "-6 route add default via 2001:db8:1::2"); err != nil {
		return err
	}
	return up()
}

// networkFile is a file that makeNetwork made.
func networkFile(name string) string { return filepath.Join(os.Getenv(networkEnv), name) }

// hostService starts a service on the loopback of the namespace that stands for the host. It
// sends each client a greeting.
func hostService(t testing.TB, addr string) (port int) {
	t.Helper()
	l := testkit.Get(net.Listen("tcp", addr))(t)
	t.Cleanup(func() { l.Close() })
	go serveGreeting(l, "the host's own")
	return l.Addr().(*net.TCPAddr).Port
}

func serveGreeting(l net.Listener, greeting string) {
	egresstest.Serve(l, func(c net.Conn) { io.WriteString(c, greeting+"\n") })
}
