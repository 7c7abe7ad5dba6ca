package installed

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// withoutNamespaces is the name under which the test binary runs its tests where user namespaces are
// refused.
const withoutNamespaces = "mcp-jail-test-without-namespaces"

func withoutNamespacesMain() {
	err := testkit.ExecWithoutNamespaces(append([]string{"/proc/self/exe"}, os.Args[1:]...))
	os.Stderr.WriteString(err.Error() + "\n")
	os.Exit(1)
}

// TestWithoutNamespaces runs the test of waivers where user namespaces are refused, also with the
// network waived.
func TestWithoutNamespaces(t *testing.T) {
	for _, gap := range []string{"", "net"} {
		cmd := testkit.Self(withoutNamespaces, "-test.run=^TestWaived$", "-test.count=1")
		cmd.Env = append(os.Environ(), "MCPJAIL_TEST_WAIVED="+gap, "MCPJAIL_TEST_REFUSED=1")
		cmd.Args = append(cmd.Args, "-test.v")
		out, err := cmd.CombinedOutput()
		testkit.Works(t, fmt.Sprintf("waived %q", gap), err)
		t.Logf("%s", out)
	}
}

// TestWaived tests what a jail is where it has gaps. Without the waivers its program does not run,
// and the error names the missing axes. With them it runs, the gaps are told, it writes its HOME and
// nothing else, and a watched one has no network, also if the network is waived.
func TestWaived(t *testing.T) {
	if os.Getenv("MCPJAIL_TEST_REFUSED") == "" {
		t.Skip("TestWithoutNamespaces runs it")
	}
	host, file := interpreter(t, `
echo x >~/kept && echo home; echo x >"$OUTSIDE/planted" || cat "$OUTSIDE/secret" || [ -e "$OUTSIDE/secret" ] && echo seen
(exec 3<>"/dev/tcp/127.0.0.1/$PORT") && echo connected
exit 0
`)
	outside := testkit.ShortDir(t)
	testkit.WriteFile(t, filepath.Join(outside, "secret"), "a secret\n")
	listener := testkit.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	var told []string
	j := &Jail{
		Host: *host, Dir: testkit.ShortDir(t), Name: "test", Purpose: "a test", Path: []string{"/usr/bin", "/bin"}, Watched: true,
		Variables: map[string]string{"OUTSIDE": outside, "PORT": port}, Limits: policy.DefaultLimits, Readable: []string{file},
		Waived: func(p *confine.Plan) {
			for _, g := range p.Gaps {
				told = append(told, fmt.Sprint(g.Axis, g.Waived))
			}
		},
	}
	testkit.Must(t, os.MkdirAll(j.Home(), 0o700))
	all := []policy.Axis{policy.AxisFs, policy.AxisProcess, policy.AxisLimits}
	for n := range all {
		j.Waive = slices.Delete(slices.Clone(all), n, n+1)
		_, _, err := j.Run(t.Context(), &bytes.Buffer{}, "/bin/bash", file)
		var failed *hostError
		if !errors.As(err, &failed) || !slices.Equal(failed.Gaps.Missing(), all[n:n+1]) || !strings.Contains(err.Error(), "(waive: "+string(all[n])+")") {
			t.Errorf("without %s: %v", all[n], err)
		}
	}
	if left, _ := os.ReadDir(j.Home()); len(left) > 0 || told != nil {
		t.Fatalf("it ran: %v, %v", left, told)
	}
	j.Waive = all
	if axis := os.Getenv("MCPJAIL_TEST_WAIVED"); axis != "" {
		j.Waive = append(slices.Clone(all), policy.Axis(axis))
	}
	out := &bytes.Buffer{}
	if _, _, err := j.Run(t.Context(), out, "/bin/bash", file); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if !strings.HasPrefix(text, "home\n") || strings.Contains(text, "a secret") || !strings.Contains(text, "seen\n") {
		t.Errorf("it printed %q", text)
	}
	if strings.Contains(text, "connected") {
		t.Errorf("it reaches the host's network: %q", text)
	}
	testkit.Fails(t, "it wrote outside its HOME", testkit.ErrorOf(os.Lstat(filepath.Join(outside, "planted"))), "")
	control := exec.Command("/bin/bash", file)
	control.Env = []string{"HOME=" + j.Home(), "OUTSIDE=" + outside, "PORT=" + port, "PATH=/usr/bin:/bin"}
	testkit.Contains(t, "control", string(testkit.Get(control.Output())(t)), "connected")
	if !slices.Contains(told, "fstrue") || slices.ContainsFunc(told, func(g string) bool { return strings.HasPrefix(g, "net") || strings.HasSuffix(g, "false") }) {
		t.Errorf("gaps that were told: %v", told)
	}
}

// TestRunAfterHostChange: if a file that every jail shows is replaced between the resolution and the start,
// the profile is resolved again. If it is replaced each time, Run gives up.
func TestRunAfterHostChange(t *testing.T) {
	const file = "/etc/group"
	for _, c := range []struct {
		changes int // of so many resolutions the file is another one
		want    string
	}{{1, ""}, {maxStarts, file}} {
		host, program := interpreter(t, "echo it runs")
		lstat, begun := host.Lstat, 0
		changed := *host
		changed.Lstat = func(p string) (hostfs.FileInfo, error) {
			info, err := lstat(p)
			if p == "/" {
				begun++
			}
			if p == file && begun <= c.changes {
				info.ID.Ino += uint64(begun) << 32
			}
			return info, err
		}
		j := &Jail{Host: changed, Dir: testkit.ShortDir(t), Name: "test", Purpose: "a test", Path: []string{"/usr/bin", "/bin"}, Limits: policy.DefaultLimits, Readable: []string{program}}
		testkit.Must(t, os.MkdirAll(j.Home(), 0o700))
		out := &bytes.Buffer{}
		_, _, err := j.Run(t.Context(), out, "/bin/sh", program)
		if c.want == "" && (err != nil || out.String() != "it runs\n") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%d changes, %d looks: %q, %v", c.changes, begun, out, err)
		}
	}
}
