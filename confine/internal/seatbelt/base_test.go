package seatbelt_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt/seatbelttest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestBaseAndNetwork holds what a text grants that no entry grants.
func TestBaseAndNetwork(t *testing.T) {
	p := workspace("/Users/me/work")
	never := [][2]string{
		{"sysctl-read", "kern.procargs2"}, {"sysctl-read", "kern.proc.all"}, {"sysctl-read", "net.inet.tcp.pcblist"}, {"sysctl-write", "kern.maxproc"},
		{"mach-lookup", "com.apple.SecurityServer"}, {"mach-lookup", "com.apple.coreservices.launchservicesd"}, {"mach-lookup", "com.apple.pasteboard.1"}, {"mach-lookup", "com.apple.tccd"},
		{"signal", "others"}, {"process-info-pidinfo", "others"}, {"mach-task-name", "others"}, {"appleevent-send", "com.apple.Finder"}, {"lsopen", "x"}, {"job-creation", "x"},
		{"file-read-data", "/Users"}, {"file-read-data", "/private/var/db/x"}, {"file-read-data", "/dev/disk0"}, {"file-write-data", "/dev/tty"}, {"file-read-data", "/dev/tty"},
		{"file-link", "/Users/me/work/a"}, {"file-write-setugid", "/Users/me/work/a"}, {"file-mknod", "/Users/me/work/a"}, {"file-write-data", "/opt/mcp-jail"},
		{"network-outbound", "/private/var/run/mDNSResponder"}, {"network-outbound", "203.0.113.5:443"}, {"network-outbound", "localhost:4712"},
		{"network-bind", "localhost:8080"}, {"system-socket", "AF_INET SOCK_RAW"}, {"system-socket", "AF_INET SOCK_DGRAM"}, {"system-socket", "AF_ROUTE"},
	}
	always := [][2]string{
		{"sysctl-read", "hw.ncpu"}, {"sysctl-read", "hw.optional.arm64"}, {"mach-lookup", "com.apple.logd"}, {"signal", "same-sandbox"}, {"process-info-pidinfo", "self"},
		{"file-read-data", "/"}, {"file-read-data", "/dev/urandom"}, {"file-write-data", "/dev/null"}, {"file-write-data", "/dev/dtracehelper"}, {"file-read-metadata", "/etc"}, {"file-read-metadata", "/Users/me"},
		{"file-map-executable", "/usr/lib/libSystem.B.dylib"}, {"file-map-executable", "/opt/mcp-jail"}, {"process-exec*", "/opt/mcp-jail"}, {"file-read-data", "/opt/mcp-jail"},
	}
	perInput := []struct {
		op, subject string
		given       func(seatbelt.Input) bool
	}{
		{"process-fork", "self", func(in seatbelt.Input) bool { return !in.NoFork }},
		{"network-outbound", "localhost:4711", func(in seatbelt.Input) bool { return in.ProxyPort != 0 }},
		{"mach-lookup", "com.apple.trustd.agent", func(in seatbelt.Input) bool { return in.ProxyPort != 0 }},
		{"system-socket", "AF_INET SOCK_STREAM", func(in seatbelt.Input) bool { return in.ProxyPort != 0 || in.Inbound }},
		{"network-inbound", "localhost:3000", func(in seatbelt.Input) bool { return in.Inbound }},
		{"file-write-create", "/private/tmp/mj-1-2/a", func(in seatbelt.Input) bool { return in.TempDir != "" }},
		{"file-write-create", "/private/tmp/mj-1-2/.vscode", func(in seatbelt.Input) bool { return in.TempDir != "" }},
		{"network-bind", "/private/tmp/mj-1-2/s", func(in seatbelt.Input) bool { return in.TempDir != "" }},
		{"file-write-unlink", "/private/tmp/mj-1-2", func(seatbelt.Input) bool { return false }},
		{"file-test-existence", "/usr/bin", func(in seatbelt.Input) bool { return in.Without == nil }},
	}
	for _, in := range []seatbelt.Input{{}, {NoFork: true}, {ProxyPort: 4711}, {Inbound: true}, {TempDir: "/private/tmp/mj-1-2"}, {Form: seatbelt.Layered, ProxyPort: 4711, TempDir: "/private/tmp/mj-1-2"}, {Without: []string{"file-test-existence"}}} {
		in.Profile, in.Tag, in.Self = p, "mcpj-0badcafe", "/opt/mcp-jail"
		text, err := seatbelt.Compile(in)
		if err != nil {
			t.Fatal(err)
		}
		rules, err := seatbelttest.Read(text.Profile, text.Params)
		if err != nil {
			t.Fatal(err)
		}
		check := func(op, subject string, want bool) {
			t.Helper()
			if got := seatbelttest.Allowed(rules, op, subject, ""); got != want {
				t.Errorf("%+v: %s %s: %v", in, op, subject, got)
			}
		}
		for _, c := range never {
			check(c[0], c[1], false)
		}
		for _, c := range always {
			check(c[0], c[1], true)
		}
		for _, c := range perInput {
			check(c.op, c.subject, c.given(in))
		}
	}
}

// TestAllProtectedNamesAreExcluded reads the names from the source of the policy: one that is new
// there must be in the texts too.
func TestAllProtectedNamesAreExcluded(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../../policy/protected.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &policy.Profile{Entries: []policy.Entry{{Path: "/w", Kind: policy.KindDir, Rights: policy.AllRights, Origin: policy.OriginRule}}}
	n := 0
	for _, form := range []seatbelt.Form{seatbelt.Conditional, seatbelt.Layered} {
		rules := compiled(t, p, form)
		ast.Inspect(file, func(node ast.Node) bool {
			lit, ok := node.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			name, _ := strconv.Unquote(lit.Value)
			below, protected := policy.ProtectedParts(name)
			if !protected {
				return true
			}
			n++
			for _, part := range append(below, "") {
				if allowedIn(rules, "/w/x/"+name+"/"+part) && (below == nil || part != "") || allowedIn(rules, "/w/x/"+name) {
					t.Errorf("form %d: %s/%s can be made", form, name, part)
				}
			}
			return true
		})
	}
	if n < 40 {
		t.Errorf("%d names", n)
	}
}
