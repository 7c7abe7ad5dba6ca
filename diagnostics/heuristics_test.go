package diagnostics

import (
	"strings"
	"testing"
)

// TestPackageDownloadInCall checks that a tool call that uses the network is not taken for
// a package download.
func TestPackageDownloadInCall(t *testing.T) {
	ev := evidence("fetch failed")
	ev.Profile.Argv = []string{"npx", "x"}
	if d := Diagnose(ev); d.Attribution != Possible || len(d.Grant) > 0 {
		t.Errorf("%s", d.Text())
	}
}

// TestBrowserSandbox covers the failure of a browser's own sandbox, which no rule changes.
func TestBrowserSandbox(t *testing.T) {
	for _, text := range []string{
		"FATAL: No usable sandbox! If you are running on Ubuntu 23.10+", "Chromium sandboxing failed!",
		"Running as root without --no-sandbox is not supported.", "Failed to move to new namespace: PID namespaces supported",
	} {
		if d := Diagnose(evidence(text)); d.Attribution != Possible || !strings.Contains(d.Fix, "--no-sandbox") || len(d.Grant) > 0 {
			t.Errorf("%s", d.Text())
		}
	}
}

// TestCrossDevice checks that a rename across the border of a rule leads to no grant.
func TestCrossDevice(t *testing.T) {
	for _, text := range []string{
		"EXDEV: cross-device link not permitted, rename '/home/u/work/a' -> '/home/u/work/b/a'",
		"OSError: [Errno 18] Invalid cross-device link: '/home/u/work/a' -> '/home/u/work/b/a'",
	} {
		d := Diagnose(evidence(text))
		if d.Attribution != Possible || len(d.Grant) > 0 || strings.Contains(d.Cause, "EPERM") || !strings.Contains(d.Fix, "create it in the target directory") {
			t.Errorf("%s", d.Text())
		}
	}
}

// TestPlanCommand checks that the command in the advice can be typed.
func TestPlanCommand(t *testing.T) {
	ev := evidence("operation not permitted")
	if d := Diagnose(ev); !strings.Contains(d.Fix, "`mcp-jail plan github`") {
		t.Errorf("%s", d.Text())
	}
	ev.FromCommandLine = true
	if d := Diagnose(ev); !strings.Contains(d.Fix, "`mcp-jail plan` with the same arguments") {
		t.Errorf("%s", d.Text())
	}
}
