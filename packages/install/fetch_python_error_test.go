package install

import (
	"fmt"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestPythonErrorReasons tests which reason an error names for the words of pip and uv.
func TestPythonErrorReasons(t *testing.T) {
	for _, c := range testkit.Table[struct{ installer, output, want string }](t, "python-error-reasons.txt") {
		err := &pythonError{What: "thing", Installer: c.installer, Status: 1, Output: c.output}
		testkit.Contains(t, fmt.Sprintf("%s: %s", c.installer, c.output), err.Error(), c.want)
	}
}
