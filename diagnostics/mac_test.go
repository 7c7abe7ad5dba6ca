package diagnostics

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
)

// TestMac has what programs print in a jail of macOS, which refuses with EPERM, hides no name, and
// has one way to hosts. Each text has its counterpart on Linux, where it means something else.
func TestMac(t *testing.T) {
	const notes, read = "/home/u/notes/a.md", "--read"
	for _, tt := range []struct {
		name, text     string
		mac, linux     Attribution
		fix, elsewhere string // words of the diagnosis on macOS, and on Linux; "" for those that do not matter
		page           Page
	}{
		{name: "node may not read", text: "EPERM: operation not permitted, open '" + notes + "'", mac: Likely, linux: Likely, fix: read, elsewhere: read, page: PageFsRead},
		{name: "Python may not read", text: "PermissionError: [Errno 1] Operation not permitted: '" + notes + "'", mac: Likely, linux: Likely, fix: read, elsewhere: read, page: PageFsRead},
		{name: "Go may not read", text: "open " + notes + ": operation not permitted", mac: Likely, linux: Likely, fix: read, elsewhere: read, page: PageFsRead},
		{name: "Rust may not read", text: "could not open " + notes + ": Operation not permitted (os error 1)", mac: Likely, linux: Likely, fix: read, elsewhere: read, page: PageFsRead},
		{name: "the name is shown, so it is not the jail", text: "ENOENT: no such file or directory, open '" + notes + "'", mac: None, linux: Likely, elsewhere: read},
		{name: "Python does not find it", text: "FileNotFoundError: [Errno 2] No such file or directory: '" + notes + "'", mac: None, linux: Likely, elsewhere: read},
		{name: "a granted host that is looked up", text: "getaddrinfo ENOTFOUND api.github.com", mac: None, linux: None, fix: "ALL_PROXY by SOCKS5", page: report.PageNetProxy},
		{name: "the same in Go", text: "Get \"https://api.github.com/\": dial tcp: lookup api.github.com: operation not permitted", mac: None, linux: None, fix: "ALL_PROXY", page: report.PageNetProxy},
		{name: "an address in Go", text: "dial tcp 203.0.113.7:443: connect: operation not permitted", mac: None, linux: None},
		{name: "the same in curl", text: "curl: (6) Could not resolve host: api.github.com", mac: None, linux: None, fix: "ALL_PROXY", page: report.PageNetProxy},
		{name: "a host that nothing grants", text: "getaddrinfo ENOTFOUND api.example.com", mac: Likely, linux: Likely, fix: "--net api.example.com", elsewhere: "--net api.example.com"},
		{name: "a full disk", text: "ENOSPC: no space left on device, write '/tmp/x'", mac: None, linux: Likely},
		{name: "too many processes", text: "OSError: [Errno 35] Resource temporarily unavailable: fork", mac: None, linux: Likely, elsewhere: "processes"},
		{name: "a browser", text: "Sandboxing failed: sandbox_apply", mac: Likely, linux: Likely, fix: "--no-sandbox", elsewhere: "--no-sandbox"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := evidence(tt.text)
			there := Diagnose(ev)
			ev.System = "darwin"
			here := Diagnose(ev)
			if here.Attribution != tt.mac || there.Attribution != tt.linux {
				t.Errorf("want %s and %s:\n%s\n%s", tt.mac, tt.linux, here.Text(), there.Text())
			}
			all := here.Text() + strings.Join(here.Words, " ")
			if !strings.Contains(all, tt.fix) || tt.page != "" && here.Explain != tt.page {
				t.Errorf("want %q and page %q on macOS, got %q:\n%s", tt.fix, tt.page, here.Explain, all)
			}
			if all := there.Text() + strings.Join(there.Words, " "); !strings.Contains(all, tt.elsewhere) {
				t.Errorf("want %q on Linux:\n%s", tt.elsewhere, all)
			}
			if tt.page == report.PageNetProxy && here.Words != nil {
				t.Errorf("a line is proposed that does not help: %q", here.Words)
			}
		})
	}
}
