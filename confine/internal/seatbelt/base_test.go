package seatbelt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt/seatbelttest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
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
	for _, in := range []seatbelt.Input{{}, {NoFork: true}, {ProxyPort: 4711}, {Inbound: true}, {TempDir: "/private/tmp/mj-1-2"}, {ProxyPort: 4711, TempDir: "/private/tmp/mj-1-2"}, {Without: []string{"file-test-existence"}}} {
		in.Profile, in.Self = p, "/opt/mcp-jail"
		text := testkit.Get(seatbelt.Compile(in))(t)
		rules := testkit.Get(seatbelttest.Read(text.Profile, text.Params))(t)
		check := func(op, subject string, want bool) {
			t.Helper()
			testkit.Equal(t, fmt.Sprintf("%+v: %s %s", in, op, subject), seatbelttest.Allowed(rules, op, subject, ""), want)
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

// TestOptionalOperations holds that each of them can be left out, and that a text names it otherwise.
func TestOptionalOperations(t *testing.T) {
	for _, op := range seatbelt.Optional {
		for _, without := range [][]string{nil, {op}} {
			text, err := seatbelt.Compile(seatbelt.Input{Profile: workspace("/Users/me/work"), Self: "/opt/mcp-jail", Without: without})
			if err != nil || strings.Contains(text.Profile, op) != (without == nil) {
				t.Errorf("%s, without %q: %v", op, without, err)
			}
		}
	}
}

// TestTempDirsOfOthers holds that a rule for what is around the TMPDIRs of all servers reaches none but
// the server's own, and that a rule that names one does.
func TestTempDirsOfOthers(t *testing.T) {
	for _, dir := range []string{"/private/tmp", "/private"} {
		p := &policy.Profile{Entries: []policy.Entry{
			{Path: dir, Kind: policy.KindDir, Rights: policy.AllRights, Origin: policy.OriginRule},
			{Path: "/private/tmp/mj-501-named", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule},
		}}
		text, err := seatbelt.Compile(seatbelt.Input{Profile: p, Self: "/opt/mcp-jail", TempDir: "/private/tmp/mj-501-0a1b2c3d"})
		testkit.Must(t, err)
		rules := testkit.Get(seatbelttest.Read(text.Profile, text.Params))(t)
		for _, op := range []string{"file-read-metadata", "file-read-data", "file-read-xattr", "process-exec*", "file-map-executable", "file-write-data", "file-write-create", "file-write-unlink", "file-write-mode", "network-outbound", "network-bind"} {
			for name, want := range map[string]bool{
				"/private/tmp/x": true, "/private/tmp/mj": true, "/private/tmp/amj-1/x": true, "/private/tmp/mj-501-0a1b2c3d/x": true,
				"/private/tmp/mj-501-00000000/x": false, "/private/tmp/mj-501-00000000": false, "/private/tmp/MJ-501-00000000/x": false, "/private/tmp/mj-502-0/x/y": false,
				"/private/tmp/mj-501-named/x": op == "file-read-metadata" || op == "file-read-data" || op == "file-read-xattr",
			} {
				if got := seatbelttest.Allowed(rules, op, name, ""); got != want {
					t.Errorf("a rule for %s: %s %s: %v", dir, op, name, got)
				}
			}
		}
	}
}

// TestTempDirsAreNotListed holds that a server may not list the TMPDIR of another one on the way to a
// rule in it.
func TestTempDirsAreNotListed(t *testing.T) {
	p := &policy.Profile{
		Entries:  []policy.Entry{{Path: "/private/tmp/mj-501-0/a", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule}},
		ListOnly: []string{"/private", "/private/tmp", "/private/tmp/mj-501-0"},
	}
	rules := compiled(t, p)
	for name, want := range map[string]bool{"/private": true, "/private/tmp": true, "/private/tmp/mj-501-0": false, "/private/tmp/mj-501-0/a": true} {
		testkit.Equal(t, fmt.Sprintf("list %s", name), seatbelttest.Allowed(rules, "file-read-data", name, ""), want)
	}
}

// TestNamedSockets holds that a socket in a grant is reached if a rule names it, and only then.
func TestNamedSockets(t *testing.T) {
	p := &policy.Profile{Entries: []policy.Entry{
		{Path: "/private/var/run/docker.sock", Kind: policy.KindSpecial, Rights: policy.Read | policy.Update, Origin: policy.OriginRule},
		{Path: "/private/var/run/mDNSResponder", Kind: policy.KindSpecial, Rights: policy.Read | policy.Update, Origin: policy.OriginRule},
		{Path: "/private/var/run/read.sock", Kind: policy.KindSpecial, Rights: policy.Read, Origin: policy.OriginRule},
		{Path: "/w", Kind: policy.KindDir, Rights: policy.AllRights, Origin: policy.OriginRule},
		{Path: "/w/found.sock", Kind: policy.KindSpecial, Origin: policy.OriginSensitive},
		{Path: "/w/named.sock", Kind: policy.KindSpecial, Rights: policy.Read | policy.Write, Origin: policy.OriginRule},
	}}
	rules := compiled(t, p)
	for name, want := range map[string]bool{
		"/private/var/run/docker.sock": true, "/private/var/run/mDNSResponder": false, "/private/var/run/read.sock": false, "/private/var/run/other": false,
		"/w/found.sock": false, "/w/named.sock": true, "/w/own.sock": true,
	} {
		testkit.Equal(t, fmt.Sprintf("connect to %s", name), seatbelttest.Allowed(rules, "network-outbound", name, ""), want)
		if got := seatbelttest.Allowed(rules, "network-bind", name, ""); got != (name == "/w/own.sock") {
			t.Errorf("bind %s: %v", name, got)
		}
	}
}

// TestResolver holds that no rule about a directory around the socket of the system's resolver opens it.
func TestResolver(t *testing.T) {
	for _, dir := range []string{"/private", "/private/var", "/private/var/run"} {
		p := &policy.Profile{Entries: []policy.Entry{{Path: dir, Kind: policy.KindDir, Rights: policy.AllRights, Origin: policy.OriginRule}}}
		rules := compiled(t, p)
		for name, want := range map[string]bool{"/private/var/run/mDNSResponder": false, "/private/var/run/other": true} {
			if got := seatbelttest.Allowed(rules, "network-outbound", name, ""); got != want {
				t.Errorf("a rule for %s: connect to %s: %v", dir, name, got)
			}
		}
	}
}

// TestListOnly holds that the names in such a directory can be read and nothing else.
func TestListOnly(t *testing.T) {
	p := &policy.Profile{
		Entries: []policy.Entry{
			{Path: "/Users/me/a/b", Kind: policy.KindDir, Rights: policy.AllRights, Origin: policy.OriginRule},
			{Path: "/Users/me/hidden", Kind: policy.KindDir, Origin: policy.OriginSensitive},
		},
		ListOnly: []string{"/Users", "/Users/me", "/Users/me/a", "/Users/me/hidden"},
	}
	rules := compiled(t, p)
	for name, want := range map[string]bool{"/Users": true, "/Users/me": true, "/Users/me/a": true, "/Users/me/x": false, "/Users/me/a/x": false, "/Users/me/hidden": false} {
		for _, op := range []string{"file-read-data", "file-read-metadata"} {
			testkit.Equal(t, fmt.Sprintf("%s %s", op, name), seatbelttest.Allowed(rules, op, name, ""), want)
		}
		if seatbelttest.Allowed(rules, "file-read-xattr", name, "") || seatbelttest.Allowed(rules, "file-write-create", name+"/x", "") || seatbelttest.Allowed(rules, "process-exec*", name, "") {
			t.Errorf("%s can be more than listed", name)
		}
	}
}

// TestAllProtectedNamesAreExcluded reads the names from the source of the policy: one that is new
// there must be in the texts too.
func TestAllProtectedNamesAreExcluded(t *testing.T) {
	p := &policy.Profile{Entries: []policy.Entry{{Path: "/w", Kind: policy.KindDir, Rights: policy.AllRights, Origin: policy.OriginRule}}}
	rules := compiled(t, p)
	n := 0
	for _, word := range strings.Fields(strings.NewReplacer(`"`, " ", "`", " ").Replace(testkit.ReadFile(t, "../../../policy/protected.go"))) {
		below, protected := policy.ProtectedParts(word)
		if !protected {
			continue
		}
		n++
		for _, part := range append(below, "") {
			if allowedIn(rules, "/w/x/"+word+"/"+part) && (below == nil || part != "") || allowedIn(rules, "/w/x/"+word) {
				t.Errorf("%s/%s can be made", word, part)
			}
		}
	}
	if n < 35 {
		t.Errorf("%d names", n)
	}
}
