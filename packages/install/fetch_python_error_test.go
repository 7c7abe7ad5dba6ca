package install

import (
	"fmt"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestPythonErrorReasons tests which reason an error names for the words of pip and uv.
func TestPythonErrorReasons(t *testing.T) {
	for _, c := range []struct{ installer, output, want string }{
		{"pip", "OSError: [Errno 101] Network is unreachable", "the index cannot be reached (Network is unreachable)"},
		{"pip", "urllib3: HTTPSConnectionPool(host='pypi.example', port=443): Max retries ... [Errno 111] Connection refused", "the index pypi.example cannot be reached (Connection refused)"},
		{"uv", "error: Failed to fetch: `x`\n  error sending request for url (https://me:secret@pypi.example:8443/simple/thing/)", "the index pypi.example:8443 cannot be reached"},
		{"pip", "No space left on device", "the disk is full"},
		{"pip", "ERROR: No matching distribution found for nothing", "is not in the index"},
		{"pip", "No sources permitted for thing\nERROR: No matching distribution found for thing", "install --install-scripts allows that"},
		{"uv", "thing has no usable wheels and building from source is disabled", "ask for a version that has one"},
		{"pip", "Error [Errno 13] Permission denied: '/usr/bin/python3' while executing command x", "an archive of sources at an address"},
		{"uv", "HTTP status client error (403 Forbidden) for url (https://me:secret@pypi.example/simple/thing/)", "the index pypi.example refuses access"},
		{"pip", "anything else", "pip ended with status 1"},
	} {
		err := &pythonError{What: "thing", Installer: c.installer, Status: 1, Output: c.output}
		testkit.Contains(t, fmt.Sprintf("%s: %s", c.installer, c.output), err.Error(), c.want)
	}
}
