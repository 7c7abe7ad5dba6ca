package confine_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// A probe is what mcp-jail-tls must not be able to do.
type probe struct {
	name string
	try  func() error
}

// probes returns the probes against a directory of the user, a port and a process of the host.
func probes(dir string, port, pid int) []probe {
	connect := func(domain int, to unix.Sockaddr) func() error {
		return func() error {
			fd, err := unix.Socket(domain, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Connect(fd, to)
		}
	}
	return []probe{
		{"read a file", func() error { _, err := os.ReadFile(dir + "/file"); return err }},
		{"list a directory", func() error { _, err := os.ReadDir(dir); return err }},
		{"create a file", func() error { return os.WriteFile(dir+"/new", nil, 0o600) }},
		{"connect to a port", connect(unix.AF_INET, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})},
		{"connect to a socket", connect(unix.AF_UNIX, &unix.SockaddrUnix{Name: dir + "/socket"})},
		{"start a program", func() error { return exec.Command("/bin/true").Run() }},
		{"signal a process", func() error { return unix.Kill(pid, 0) }},
		{"look into a process", func() error { // as ptrace(2) does
			fd, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			got, err := unix.PidfdGetfd(fd, 0, 0)
			unix.Close(got)
			return err
		}},
	}
}

// runProbes is mcp-jail-tls: it makes the probes that its input names, and writes what succeeded.
func runProbes([]string) {
	var dir string
	var port, pid int
	fmt.Scan(&dir, &port, &pid)
	for _, p := range probes(dir, port, pid) {
		if p.try() == nil {
			fmt.Println(p.name)
		}
	}
	fmt.Println("end")
	os.Exit(0)
}

// TestTLSJail: mcp-jail-tls opens no file, reaches nothing, starts no program and touches no process of the host. The
// control: outside of its jail it does all of that.
func TestTLSJail(t *testing.T) {
	if os.Getenv(jailtest.HostNSEnv) != "" {
		jailtest.NeedsHostNS(t)
	} else {
		jailtest.Needs(t)
	}
	dir := testkit.Plant(t, "file")
	tcp := testkit.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer tcp.Close()
	local := testkit.Get(net.Listen("unix", filepath.Join(dir, "socket")))(t)
	defer local.Close()
	victim := exec.Command("/bin/cat")
	end, err := victim.StdinPipe()
	testkit.Must(t, err, victim.Start())
	defer victim.Wait()
	defer end.Close()

	var control, all []string
	for _, p := range probes(dir, tcp.Addr().(*net.TCPAddr).Port, victim.Process.Pid) {
		all = append(all, p.name)
		if p.try() == nil {
			control = append(control, p.name)
		}
	}
	testkit.Equal(t, "control: without a jail it can", strings.Join(control, ", "), strings.Join(all, ", "))
	in, input, err := os.Pipe()
	testkit.Must(t, err)
	output, out, err := os.Pipe()
	testkit.Must(t, err)
	defer output.Close()
	process, err := confine.RunTLS(jailtest.WaivesGaps, &policy.Profile{})(t.Context(), jailtest.Binary, in, out)
	in.Close()
	out.Close()
	testkit.Must(t, err)
	fmt.Fprintln(input, dir, tcp.Addr().(*net.TCPAddr).Port, victim.Process.Pid)
	input.Close()
	got, err := io.ReadAll(bufio.NewReader(output))
	if string(got) != "end\n" || err != nil {
		t.Errorf("in its jail it can %q, %v", got, err)
	}
	testkit.Equal(t, "", process.Wait(), "exit status 0")
}

// TestTLSJailWithoutNamespaces is TestTLSJail on a host without user namespaces.
func TestTLSJailWithoutNamespaces(t *testing.T) {
	jailtest.Needs(t)
	c := testkit.Self(jailtest.Binary, "-test.run=^TestTLSJail$", "-test.v")
	c.Env = append(os.Environ(), "MCPJAIL_TEST_BINARY="+jailtest.Binary, jailtest.ForbidEnv+"=filter", jailtest.HostNSEnv+"=1")
	testkit.Contains(t, "", string(testkit.Get(c.CombinedOutput())(t)), "--- PASS: TestTLSJail")
}
