package install

import (
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	withoutNamespacesName = "mcp-jail-test-without-namespaces"
	waivedVariable        = "MCPJAIL_TEST_WAIVED"
)

// waived returns what the installers of all tests waive.
func waived() (axes []policy.Axis) {
	for axis := range strings.FieldsSeq(os.Getenv(waivedVariable)) {
		axes = append(axes, policy.Axis(axis))
	}
	return axes
}

// withoutNamespacesMain is the test binary where user namespaces are refused.
func withoutNamespacesMain() {
	err := testkit.ExecWithoutNamespaces(append([]string{"/proc/self/exe"}, os.Args[1:]...))
	os.Stderr.WriteString(err.Error() + "\n")
	os.Exit(1)
}

// TestWithoutNamespaces runs tests of this package again where user namespaces are refused, and
// the gaps are waived: what is installed, pinned and refused is the same there.
func TestWithoutNamespaces(t *testing.T) {
	if os.Getenv(waivedVariable) != "" {
		t.Skip("it runs the other tests, not itself")
	}
	tests := "^(TestScripts|TestPythonInstall)$"
	if testkit.Long() {
		tests = "."
	}
	cmd := testkit.Self(withoutNamespacesName, "-test.run="+tests, "-test.skip=TestKilled|TestFullDisk|Config", "-test.count=1", testkit.AtATime())
	cmd.Env = append(os.Environ(), "MCPJAIL_LONG=", waivedVariable+"=fs process limits", "MCPJAIL_REQUIRE=userns,"+os.Getenv("MCPJAIL_REQUIRE"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
