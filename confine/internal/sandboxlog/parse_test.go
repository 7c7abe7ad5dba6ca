package sandboxlog

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

const tag = "mcpj-0123abcd"

// line is an entry of the log as `log show --style ndjson` prints it, in the fields that are read
// and some that are not.
func line(t *testing.T, message string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"timestamp": "2026-11-20 09:16:59.318613+0400", "eventMessage": message, "processID": 0,
		"processImagePath": "/kernel", "senderImagePath": "/System/Library/Extensions/Sandbox.kext/Contents/MacOS/Sandbox",
		"eventType": "logEvent", "messageType": "Error",
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestParse reads the forms of lines that others have published of Macs (their programs and paths
// are replaced), each with the tag that the profile adds.
func TestParse(t *testing.T) {
	const (
		fs, net, ipc, process = policy.AxisFs, policy.AxisNet, policy.AxisIPC, policy.AxisProcess
		direct                = policy.DeniedDirect
	)
	for message, want := range map[string]policy.Denial{
		"Sandbox: cat(9854) deny(1) file-read-data /private/etc/hosts":                          {Axis: fs, Operation: "read", Target: "/private/etc/hosts", PID: 9854, Program: "cat"},
		"Sandbox: ls(3) deny(1) file-read-metadata /opt":                                        {Axis: fs, Operation: "read", Target: "/opt", PID: 3, Program: "ls"},
		"Sandbox: node(1234) deny(1) file-write-create /Users/x/a b/known_hosts":                {Axis: fs, Operation: "create", Target: "/Users/x/a b/known_hosts", PID: 1234, Program: "node"},
		"Sandbox: rm(7) deny(1) file-write-unlink /Users/x/a":                                   {Axis: fs, Operation: "remove", Target: "/Users/x/a", PID: 7, Program: "rm"},
		"Sandbox: chmod(7) deny(1) file-write-mode /Users/x/a":                                  {Axis: fs, Operation: "write", Target: "/Users/x/a", PID: 7, Program: "chmod"},
		"Sandbox: node(8) deny(1) file-map-executable /Users/x/addon.node":                      {Axis: fs, Operation: "exec", Target: "/Users/x/addon.node", PID: 8, Program: "node"},
		"Sandbox: sandbox-exec(41398) deny(1) process-exec* /usr/bin/touch":                     {Axis: process, Operation: "exec", Target: "/usr/bin/touch", PID: 41398, Program: "sandbox-exec"},
		"Sandbox: python3.13(5) deny(1) process-exec /usr/bin/printf":                           {Axis: process, Operation: "exec", Target: "/usr/bin/printf", PID: 5, Program: "python3.13"},
		"Sandbox: curl(9859) deny(1) network-outbound remote:*:80":                              {Axis: net, Operation: "connect", Target: "*:80", Reason: direct, PID: 9859, Program: "curl"},
		"Sandbox: python3.12(9) deny(1) network-outbound 1.1.1.1:443":                           {Axis: net, Operation: "connect", Target: "1.1.1.1:443", Reason: direct, PID: 9, Program: "python3.12"},
		"Sandbox: curl(75886) deny(1) network-outbound /private/var/run/mDNSResponder":          {Axis: net, Operation: "resolve", Reason: direct, Background: true, PID: 75886, Program: "curl"},
		"Sandbox: docker(6) deny(1) network-outbound /private/var/run/docker.sock":              {Axis: ipc, Operation: "connect", Target: "/private/var/run/docker.sock", PID: 6, Program: "docker"},
		"Sandbox: searchpartyd(159) deny(1) network-bind local:*:55330":                         {Axis: net, Operation: "listen", Target: "*:55330", PID: 159, Program: "searchpartyd"},
		"Sandbox: node(9) deny(1) network-bind /private/tmp/x.sock":                             {Axis: fs, Operation: "create", Target: "/private/tmp/x.sock", PID: 9, Program: "node"},
		"Sandbox: node(9) deny(1) system-socket":                                                {Axis: net, Operation: "socket", Reason: direct, Background: true, PID: 9, Program: "node"},
		"Sandbox: limactl(42303) deny(1) mach-lookup com.apple.SecurityServer":                  {Axis: ipc, Operation: "mach-lookup", Target: "com.apple.SecurityServer", PID: 42303, Program: "limactl"},
		"Sandbox: codex(99) deny(1) mach-lookup com.apple.diagnosticd":                          {Axis: ipc, Operation: "mach-lookup", Target: "com.apple.diagnosticd", Background: true, PID: 99, Program: "codex"},
		"Sandbox: Gradle Worker(10) deny(1) signal":                                             {Axis: process, Operation: "signal", PID: 10, Program: "Gradle Worker"},
		"Sandbox: touch(32784) deny(1) sysctl-read kern.iossupportversion":                      {Axis: process, Operation: "sysctl-read", Target: "kern.iossupportversion", Background: true, PID: 32784, Program: "touch"},
		"Sandbox: git(4) deny(1) file-link /Users/x/a":                                          {Axis: process, Operation: "file-link", Target: "/Users/x/a", PID: 4, Program: "git"},
		"Sandbox: curl(1) deny(1) file-read-data /Library/Preferences/com.apple.networkd.plist": {Axis: fs, Operation: "read", Target: "/Library/Preferences/com.apple.networkd.plist", Background: true, PID: 1, Program: "curl"},
		"Sandbox: helper (x)(12) deny(1) file-read-data /a) deny(1) b":                          {Axis: fs, Operation: "read", Target: "/a) deny(1) b", PID: 12, Program: "helper (x)"},
		"Sandbox: cat(11) deny(1) file-read-data /tmp/x\nmcpj-ffffffff":                         {Axis: fs, Operation: "read", Target: "/tmp/x\nmcpj-ffffffff", PID: 11, Program: "cat"},
		"12 duplicate reports for Sandbox: go(9) deny(1) file-write-data /Users/x/y":            {Axis: fs, Operation: "write", Target: "/Users/x/y", PID: 9, Program: "go", Count: 12},
		"1 duplicate report for Sandbox: sh(5) deny(1) file-write-data /dev/dtracehelper":       {Axis: fs, Operation: "write", Target: "/dev/dtracehelper", Background: true, PID: 5, Program: "sh"},
	} {
		want.Count = max(want.Count, 1)
		want.Time = time.Date(2026, 11, 20, 5, 16, 59, 318613000, time.UTC)
		got := Parse([]byte(line(t, message+"\n"+tag)), tag)
		if len(got) == 1 {
			got[0].Time = got[0].Time.UTC()
		}
		if len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("%s\n got %+v\nwant %+v", message, got, want)
		}
	}
}

// TestParseNothing has lines that are no denials of the session.
func TestParseNothing(t *testing.T) {
	const good = "Sandbox: cat(11) deny(1) file-read-data /tmp/x"
	for name, text := range map[string]string{
		"another session":        line(t, good+"\nmcpj-ffffffff"),
		"a forged tag":           line(t, good+"\n"+tag+"\nmcpj-ffffffff"),
		"the tag in a name":      line(t, "Sandbox: cat(13) deny(1) file-read-data /tmp/"+tag+"\nmcpj-ffffffff"),
		"the tag after a space":  line(t, good+" "+tag),
		"no tag":                 line(t, good),
		"the system's policy":    line(t, "System Policy: head(19385) deny(1) file-read-data /x\n"+tag),
		"launchd's count":        line(t, "Sandbox: 10 duplicate reports for plugin-container deny(1) mach-lookup x.y\n"+tag),
		"a strange count":        line(t, "many duplicate reports for "+good+"\n"+tag),
		"a count of none":        line(t, "0 duplicate reports for "+good+"\n"+tag),
		"a count of other words": line(t, "2 strange reports for "+good+"\n"+tag),
		"no process":             line(t, "Sandbox: cat(0) deny(1) file-read-data /x\n"+tag),
		"no program":             line(t, "Sandbox: 5) deny(1) file-read-data /x\n"+tag),
		"no number":              line(t, "Sandbox: cat deny(1) file-read-data /x\n"+tag),
		"no operation":           line(t, "Sandbox: cat(1) deny(1) \n"+tag),
		"an allow":               line(t, "Sandbox: cat(1) allow file-read-data /x\n"+tag),
		"other words":            line(t, "something else\n"+tag),
		"the last line":          `{"count":5,"finished":1}`,
		"a program of that name": strings.Replace(line(t, good+"\n"+tag), `"processID":0`, `"processID":4711`, 1),
		"half a line":            line(t, good+"\n"+tag)[:60],
		"an empty message":       line(t, ""),
	} {
		if got := Parse([]byte(text+"\n"), tag); len(got) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := Parse([]byte(line(t, good+"\n")), ""); len(got) != 0 {
		t.Errorf("without a tag: %+v", got)
	}
}

// TestParseCounts checks that repetitions are one denial, and that a flood is bounded.
func TestParseCounts(t *testing.T) {
	const one = "Sandbox: cat(11) deny(1) file-read-data /tmp/x"
	text := line(t, one+"\n"+tag) + "\n" + strings.Replace(line(t, strings.Replace(one, "(11)", "(12)", 1)+"\n"+tag), "09:16:59", "09:17:00", 1) +
		"\n" + line(t, "3 duplicate reports for "+one+"\n"+tag)
	got := Parse([]byte(text), tag)
	if len(got) != 1 || got[0].Count != 5 || got[0].PID != 12 || got[0].Last.Sub(got[0].Time) != time.Second {
		t.Errorf("got %+v", got)
	}
	different := ""
	for _, message := range []string{one, strings.Replace(one, "cat", "sh", 1), strings.Replace(one, "read-data", "write-create", 1), one + "2"} {
		different += line(t, message+"\n"+tag) + "\n"
	}
	if got := Parse([]byte(different), tag); len(got) != 4 {
		t.Errorf("different denials are counted as one: %+v", got)
	}
	var flood strings.Builder
	for i := range maxDenials + 10 {
		flood.WriteString(line(t, one+strings.Repeat("y", i)+"\n"+tag) + "\n")
	}
	if got := Parse([]byte(flood.String()), tag); len(got) != maxDenials {
		t.Errorf("%d denials", len(got))
	}
	long := Parse([]byte(line(t, one+strings.Repeat("y", maxTarget)+"\n"+tag)), tag)
	if len(long) != 1 || len(long[0].Target) != maxTarget {
		t.Error("a long target is not cut")
	}
	if at := Parse([]byte(strings.Replace(line(t, one+"\n"+tag), "2026-11", "2026/11", 1)), tag); len(at) != 1 || !at[0].Time.IsZero() {
		t.Errorf("an unreadable time: %+v", at)
	}
}
