package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestWithoutNamespaces runs the tests TestHostNS… where a filter forbids namespaces, those of the rights that
// Landlock or the supervisor alone enforces first, since make test leaves out the rest. The long form also runs them as root of a
// user namespace that allows no further one, but for those that take long and do not depend on it.
func TestWithoutNamespaces(t *testing.T) {
	jailtest.Needs(t)
	if os.Getenv("MCPJAIL_TEST_BINARY") != "" {
		t.Skip("this is such a run")
	}
	type way struct {
		name, how, run, skip string
		unshare              bool
	}
	const rights = "^TestHostNS(Rights|Sums|CommandsOwnProgram|Denials|Isolation|AttributeResults)$"
	ways := []way{{"rights", "filter", rights, "", false}, {"all else", "filter", "^TestHostNS", rights, false}}
	if testkit.Long() {
		// Only root is mapped in its user namespace: files of other users belong to nobody (65534).
		ways = append(ways, way{"by a setting", "limit", "^TestHostNS", "^TestHostNS(Commands|BlockedCalls)", true})
	}
	for i, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			home := filepath.Join(filepath.Dir(jailtest.Binary), fmt.Sprint("hostns-", i))
			testkit.Must(t, os.Mkdir(home, 0o700))
			cmd := exec.Command(jailtest.Binary, "-test.run="+w.run, "-test.skip="+w.skip, "-test.v", "-test.timeout=60m", testkit.AtATime())
			if w.unshare {
				cmd = exec.Command("unshare", append([]string{"--user", "--map-root-user"}, cmd.Args...)...)
			}
			cmd.Dir = home
			cmd.Env = append(os.Environ(), "MCPJAIL_TEST_BINARY="+jailtest.Binary, "TMPDIR="+home, "HOME="+home, "XDG_STATE_HOME="+home, jailtest.ForbidEnv+"="+w.how)
			out, err := cmd.CombinedOutput()
			passed := strings.Count(string(out), "\n--- PASS: TestHostNS") // each on a line of its own
			if err != nil || passed == 0 || strings.Contains(string(out), "--- SKIP: TestHostNS") {
				t.Errorf("%v, %d passed\n%s", err, passed, out)
			}
			t.Logf("%d tests\n%s", passed, out) // where they are looked for when they were skipped
			lines := strings.Split(string(out), "\n")
			for i, line := range lines {
				if strings.HasPrefix(strings.TrimSpace(line), "--- FAIL: ") { // its messages are before it
					t.Errorf("%s", strings.Join(lines[max(0, i-5):i+1], "\n"))
				}
			}
		})
	}
}

// TestShortageIsNoGap: a temporary failure is an error, not a gap. A user who waives every gap
// gets no weaker jail by it.
func TestShortageIsNoGap(t *testing.T) {
	jailtest.Needs(t)
	if os.Getuid() != 0 || os.Getenv("MCPJAIL_TEST_BINARY") != "" {
		return
	}
	cmd := exec.Command("unshare", "--user", "--map-root-user", jailtest.Binary, "-test.run=^TestNamespacesUsedUp$", "-test.v")
	cmd.Env = append(os.Environ(), "MCPJAIL_TEST_BINARY="+jailtest.Binary, jailtest.ForbidEnv+"=few", fewEnv+"=1")
	testkit.Contains(t, "", string(testkit.Get(cmd.CombinedOutput())(t)), "--- PASS: TestNamespacesUsedUp")
}

const fewEnv = "MCPJAIL_TEST_FEW"

// TestNamespacesUsedUp: if all user namespaces are in use, the start fails with a gap that
// cannot be waived.
func TestNamespacesUsedUp(t *testing.T) {
	if os.Getenv(fewEnv) == "" {
		return // started by TestShortageIsNoGap
	}
	_, err := confine.Launcher{Waive: policy.Axes()}.Start(t.Context(), jailtest.Profile(t), jail.Stdio{})
	var gaps *plan.GapError
	if !errors.As(err, &gaps) || len(gaps.Gaps) != 1 || !gaps.Gaps[0].Fatal || gaps.HostNamespaces.Answer == kernel.No || !strings.Contains(err.Error(), "too many user namespaces") {
		t.Errorf("%#v: %v", err, err)
	}
}
