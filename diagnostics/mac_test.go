package diagnostics

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestMac has what programs print in a jail of macOS, which refuses with EPERM, hides no name, and
// has one way to hosts. Each text has its counterpart on Linux, where it means something else.
func TestMac(t *testing.T) {
	const notes, read = "/home/u/notes/a.md", "read = true"
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
		{name: "a program that takes every error for that", text: "config file not found: " + notes, mac: Likely, linux: Likely, fix: read, elsewhere: read, page: PageFsRead},
		{name: "a granted host that is looked up", text: "getaddrinfo ENOTFOUND api.github.com", mac: None, linux: None, fix: "ALL_PROXY by SOCKS5", page: report.PageNetProxy},
		{name: "the same in Go", text: "Get \"https://api.github.com/\": dial tcp: lookup api.github.com: operation not permitted", mac: None, linux: None, fix: "ALL_PROXY", page: report.PageNetProxy},
		{name: "an address in Go", text: "dial tcp 203.0.113.7:443: connect: operation not permitted", mac: None, linux: None},
		{name: "the same in curl", text: "curl: (6) Could not resolve host: api.github.com", mac: None, linux: None, fix: "ALL_PROXY", page: report.PageNetProxy},
		{name: "an address of a program that uses none", text: "psycopg.OperationalError: connection to server at \"db.example.com\" (203.0.113.7), port 5432 failed: Operation not permitted", mac: Likely, linux: Likely, fix: "no line of a policy changes this", page: report.PageNetProxy},
		{name: "a host that nothing grants", text: "getaddrinfo ENOTFOUND api.example.com", mac: Likely, linux: Likely, fix: `host = "api.example.com"`, elsewhere: `host = "api.example.com"`},
		{name: "a full disk", text: "ENOSPC: no space left on device, write '/tmp/x'", mac: None, linux: Possible},
		{name: "too many processes", text: "OSError: [Errno 35] Resource temporarily unavailable: fork", mac: None, linux: Possible, elsewhere: "processes"},
		{name: "a browser", text: "Sandboxing failed: sandbox_apply", mac: Possible, linux: Possible, fix: "--no-sandbox", elsewhere: "--no-sandbox"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := evidence(tt.text)
			there := Diagnose(ev)
			ev.System = "darwin"
			here := Diagnose(ev)
			if here.Attribution != tt.mac || there.Attribution != tt.linux {
				t.Errorf("want %s and %s:\n%s\n%s", tt.mac, tt.linux, here.Text(), there.Text())
			}
			all := here.Text() + strings.Join(here.Grant, "\n")
			if !strings.Contains(all, tt.fix) || tt.page != "" && here.Explain != tt.page {
				t.Errorf("want %q and page %q on macOS, got %q:\n%s", tt.fix, tt.page, here.Explain, all)
			}
			if all := there.Text() + strings.Join(there.Grant, "\n"); !strings.Contains(all, tt.elsewhere) {
				t.Errorf("want %q on Linux:\n%s", tt.elsewhere, all)
			}
			if tt.page == report.PageNetProxy && here.Grant != nil {
				t.Errorf("a line is proposed that does not help: %q", here.Grant)
			}
		})
	}
}

// TestMayBeRefused has failures after which the log of macOS is worth a question, and others.
func TestMayBeRefused(t *testing.T) {
	for text, want := range map[string]bool{
		"EPERM: operation not permitted, open '/x'": true, "fetch failed": true, "config not found: /x": true,
		"ENOENT: no such file or directory, open '/x'": false, "HTTP 403 Forbidden": false, "invalid argument": false, "": false,
	} {
		if ev := evidence(text); MayBeRefused(&ev) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
	for _, exit := range []Exit{{}, {Code: 1}, {Code: 137, Signal: 9}} {
		if ev := (Evidence{Exit: &exit}); MayBeRefused(&ev) != (exit.Code != 0) {
			t.Errorf("%+v: %v", exit, MayBeRefused(&ev))
		}
	}
}

// TestMacDenials has denials as the log of macOS gives them.
func TestMacDenials(t *testing.T) {
	direct := func(operation, target string) policy.Denial {
		return policy.Denial{Axis: policy.AxisNet, Operation: operation, Target: target, Reason: policy.DeniedDirect, Program: "psql", Count: 1}
	}
	none := func(p *policy.Profile) { p.Net = nil }
	for _, tt := range []struct {
		name   string
		denial policy.Denial
		change func(*policy.Profile)
		want   []string
		page   Page
		grant  bool
	}{
		{"a file", policy.Denial{Axis: policy.AxisFs, Operation: "read", Target: "/home/u/notes/a.md", Program: "cat", Count: 1}, nil, []string{"to read", "read = true"}, PageFsRead, true},
		{"a file that the policy grants", policy.Denial{Axis: policy.AxisFs, Operation: "create", Target: "/home/u/work/new/x", Count: 1}, nil, []string{"narrower"}, "", false},
		{"a library", policy.Denial{Axis: policy.AxisFs, Operation: "exec", Target: "/srv/models/m.bin", Count: 1}, nil, []string{"execute = true"}, PageExecute, true},
		{"a service of the system", policy.Denial{Axis: policy.AxisIPC, Operation: "mach-lookup", Target: "com.apple.SecurityServer", Count: 1}, nil, []string{"com.apple.SecurityServer", "no line"}, "", false},
		{"a direct connection", direct("connect", "203.0.113.7:5432"), nil, []string{"203.0.113.7:5432", "the session's proxy only", "no line"}, report.PageNetProxy, false},
		{"to an address that is not told", direct("connect", "*:5432"), nil, []string{"the session's proxy only"}, report.PageNetProxy, false},
		{"a lookup", direct("resolve", ""), nil, []string{"look up the name of a host", "proxy only"}, report.PageNetProxy, false},
		{"a lookup without hosts", direct("resolve", ""), none, []string{"grant the host that the server needs"}, "", false},
		{"a connection without hosts", direct("connect", "203.0.113.7:443"), none, []string{`host = "203.0.113.7"`, "prefer the host's name"}, "", true},
		{"to a hidden address without hosts", direct("connect", "*:443"), none, []string{"grant the host that the server needs"}, "", false},
		{"a port", policy.Denial{Axis: policy.AxisNet, Operation: "listen", Target: "*:3210", Count: 1}, nil, []string{"listen at port 3210", "3210"}, PageInbound, true},
		{"any port", policy.Denial{Axis: policy.AxisNet, Operation: "listen", Target: "*:0", Count: 1}, nil, []string{"a fixed port"}, PageInbound, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := evidence("it failed")
			ev.System, ev.Profile, ev.Denials = "darwin", fixture(tt.change), []policy.Denial{tt.denial}
			d := Diagnose(ev)
			all := d.Text() + strings.Join(d.Grant, "\n")
			for _, want := range tt.want {
				if !strings.Contains(strings.Join(strings.Fields(all), " "), want) {
					t.Errorf("no %q in\n%s", want, all)
				}
			}
			if d.Attribution != Certain || tt.page != "" && d.Hints[0].Explain != tt.page || (len(d.Grant) > 0) != tt.grant {
				t.Errorf("attribution %s, page %q, lines %q:\n%s", d.Attribution, d.Hints[0].Explain, d.Grant, all)
			}
		})
	}
}

// TestMacLimits: on macOS a sampler ends the server at some limits, and no word of the server tells
// about these.
func TestMacLimits(t *testing.T) {
	ev := evidence("")
	ev.Denials = []policy.Denial{{Axis: policy.AxisLimits, Operation: "processes", Target: "processes = 4", Count: 1}}
	ev.Profile.Limits.Processes = 4
	ev.System = "darwin"
	if d := Diagnose(ev); !strings.Contains(d.Text(), "more processes than processes = 4, so mcp-jail ended them all") || strings.Contains(d.Text(), "EAGAIN") {
		t.Error(d.Text())
	}
	ev = evidence("EMFILE: too many open files, open '/x'")
	ev.System = "darwin"
	if d := Diagnose(ev); d.Attribution != Possible || !strings.Contains(d.Text(), "open_files") {
		t.Error(d.Text())
	}
}
