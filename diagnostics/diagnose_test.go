package diagnostics

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/policy"
)

// failureText is a text, and what Diagnose makes of it.
type failureText struct {
	name, text string
	want       Attribution
	target     string // of the first hint
	missing    string
	grant      string // joined with "; "; "" is none
}

// otherTexts are about the form of a text.
var otherTexts = []failureText{
	{"plain error", `Invalid arguments: query is required`, None, "", "", ""},
	{"names in longer words", "ModuleNotFoundError: No module named requests\nDatabaseBusyError: RolePermissionMissing", None, "", "", ""},
	{"coloured", "\x1b[31mError: EACCES: permission denied, open '/home/u/notes/a.md'\x1b[0m", Likely, "/home/u/notes/a.md", "read",
		`[[servers.github.access.fs]]; path = "~/notes/a.md"; read = true`},
	{"escaped line breaks", `{"error":"boom\nError: EACCES: permission denied, open '/home/u/notes/a.md'\n    at x"}`, Likely, "/home/u/notes/a.md", "read",
		`[[servers.github.access.fs]]; path = "~/notes/a.md"; read = true`},
}

// TestDiagnoseText holds failure texts as real runtimes print them against the
// fixture's profile.
func TestDiagnoseText(t *testing.T) {
	for _, tt := range slices.Concat(pathTexts, hostTexts, nameTexts, otherTexts) {
		t.Run(tt.name, func(t *testing.T) {
			d := Diagnose(evidence(tt.text))
			if d.Attribution != tt.want {
				t.Fatalf("attribution %q, want %q\n%s", d.Attribution, tt.want, d.Text())
			}
			if tt.target != "" {
				if len(d.Hints) == 0 || d.Hints[0].Target != tt.target || d.Hints[0].Missing != tt.missing {
					t.Fatalf("hints %+v, want first %s %s", d.Hints, tt.missing, tt.target)
				}
			} else if len(d.Hints) != 0 {
				t.Fatalf("blames %+v", d.Hints)
			}
			if got := strings.Join(d.Grant, "; "); got != tt.grant {
				t.Fatalf("grant\n got %s\nwant %s", got, tt.grant)
			}
		})
	}
}

func TestDiagnoseWithoutKnowledge(t *testing.T) {
	ev := evidence(`Error: EACCES: permission denied, open '/home/u/notes/a.md'`)
	ev.Profile = nil
	if d := Diagnose(ev); d.Attribution != Possible || len(d.Grant) > 0 {
		t.Errorf("without a profile: %s", d.Text())
	}
	ev = evidence(`Error: ENOENT: no such file or directory, open '/home/u/notes/a.md'`)
	ev.Exists = nil
	if d := Diagnose(ev); d.Attribution != None || d.Cause != "" {
		t.Errorf("the host could not be asked, and yet: %s", d.Text())
	}
}

// TestQuietCall: a call that went well did not fail, whatever stderr holds.
func TestQuietCall(t *testing.T) {
	ev := evidence("")
	ev.Stderr = []string{"EACCES: permission denied, open '/home/u/notes/a.md'"}
	ev.Denials = []Denial{{Axis: policy.AxisNet, Operation: "connect", Target: "telemetry.x.com:443"}}
	d := Diagnose(ev)
	if strings.Contains(d.What, "failed") || len(d.Hints) != 1 || d.Attribution != Certain {
		t.Errorf("%s", d.Text())
	}
}

func TestUnsetVariable(t *testing.T) {
	ev := evidence("BAR_KEY environment variable is required")
	ev.Unset = []string{"BAR_KEY"}
	if d := Diagnose(ev); d.Attribution != None || len(d.Grant) > 0 || !strings.Contains(d.Cause, "granted but not set") {
		t.Errorf("%s", d.Text())
	}
}

// TestFetcherInCall: a tool that fetches does not fetch packages.
func TestFetcherInCall(t *testing.T) {
	ev := evidence("fetch failed")
	ev.Profile.Argv = []string{"npx", "x"}
	if d := Diagnose(ev); d.Attribution != Possible || len(d.Grant) > 0 {
		t.Errorf("%s", d.Text())
	}
}

// TestDenialOfAGrant: a contradiction is reported, not papered over with a rule.
func TestDenialOfAGrant(t *testing.T) {
	ev := evidence("")
	ev.Denials = []Denial{{Axis: policy.AxisFs, Operation: "open", Target: "/home/u/work/out.txt"}, {Axis: policy.AxisFs, Operation: "open", Target: "/\xff"}}
	d := Diagnose(ev)
	if d.Attribution != Certain || len(d.Grant) > 0 || !strings.Contains(d.Hints[0].Fix, "grants this already") || !utf8.ValidString(d.Denials[1].Target) {
		t.Errorf("%s", d.Text())
	}
}

func TestDiagnoseLink(t *testing.T) {
	ev := evidence(`Error: ENOENT: no such file or directory, open '/home/u/work/link/x.md'`)
	ev.Exists = func(string) bool { return true }
	ev.Canonical = func(p string) string { return strings.Replace(p, "/home/u/work/link", "/data/notes", 1) }
	d := Diagnose(ev)
	// A relative rule that leaves the workspace through a link is an error.
	if got := strings.Join(d.Grant, "; "); got != `[[servers.github.access.fs]]; path = "/data/notes/x.md"; read = true` {
		t.Errorf("grant %s", got)
	}
	if d := Diagnose(evidence(`env: 'git': Permission denied: /bin/git`)); d.Attribution == Likely {
		t.Errorf("/bin is a link to a place that is granted: %s", d.Text())
	}
}

// TestUnlisted: a file that may be executed but for the list of commands.
func TestUnlisted(t *testing.T) {
	for text, want := range map[string]string{
		"x: 3: /usr/bin/git: Permission denied":      `[servers.github.access.commands.git]`,
		"x: 3: /usr/lib/deep/git: Permission denied": `[servers.github.access.commands."/usr/lib/deep/git"]`,
		"Error: spawn git EACCES":                    `[servers.github.access.commands.git]`,
		"x: 3: /usr/bin/node: Permission denied":     "",
		"x: cannot open /usr/lib/f: No such file":    "",
	} {
		ev := evidence(text)
		ev.Profile.Programs = []string{"/usr/bin/node"}
		if d := Diagnose(ev); strings.Join(d.Grant, "; ") != want {
			t.Errorf("%s: got %q, want %q", text, d.Grant, want)
		}
	}
}

// TestBrowser: the one thing about a browser's sandbox that no rule changes.
func TestBrowser(t *testing.T) {
	for _, text := range []string{
		"FATAL: No usable sandbox! If you are running on Ubuntu 23.10+", "Chromium sandboxing failed!",
		"Running as root without --no-sandbox is not supported.", "Failed to move to new namespace: PID namespaces supported",
	} {
		if d := Diagnose(evidence(text)); d.Attribution != Possible || !strings.Contains(d.Fix, "--no-sandbox") || len(d.Grant) > 0 {
			t.Errorf("%s", d.Text())
		}
	}
}

// TestCertain: facts of the jail, and how they stand beside what a text names.
func TestCertain(t *testing.T) {
	ev := evidence("TypeError: fetch failed")
	ev.Stderr = []string{"PermissionError: [Errno 13] Permission denied: '/data/notes/x.md'"}
	ev.Denials = []Denial{
		{Axis: policy.AxisFs, Operation: "open for writing", Target: "/home/u/notes/a.md", Program: "/usr/bin/node", Count: 3},
		{Axis: policy.AxisNet, Operation: "connect", Target: "169.254.169.254:80", Count: 1},
		{Axis: policy.AxisProcess, Operation: "ptrace", Target: "pid 1", Count: 1},
	}
	targets := func(d Diagnosis) string {
		var all []string
		for _, h := range d.Hints {
			all = append(all, string(h.Attribution)+" "+h.Target)
		}
		return strings.Join(all, ", ")
	}
	const facts = "certain /home/u/notes/a.md, certain 169.254.169.254:80, certain pid 1"
	d := Diagnose(ev)
	if got := targets(d); got != facts+", likely /data/notes/x.md" {
		t.Errorf("the first fact first, old output last: %s", got)
	}
	if len(d.Hints[2].Grant) != 0 || strings.Contains(strings.Join(d.Grant, "\n"), "169.254") {
		t.Errorf("the metadata service is granted in passing:\n%s", d.Text())
	}
	ev.Text, ev.Stderr = ev.Stderr[0], nil
	if got := targets(Diagnose(ev)); got != "certain /home/u/notes/a.md, certain pid 1, likely /data/notes/x.md, certain 169.254.169.254:80" {
		t.Errorf("the record outranks the text, but for a host where that speaks of files: %s", got)
	}
	if got := strings.Join(Diagnose(ev).Grant, "; "); got != `[[servers.github.access.fs]]; path = "~/notes/a.md"; write = true; [[servers.github.access.fs]]; path = "/data/notes/x.md"; read = true` {
		t.Errorf("the record brings the lines, and the text adds: %s", got)
	}
	ev.Text = "EACCES: permission denied, open '/home/u/notes/a.md'"
	d = Diagnose(ev)
	if h := d.Hints[0]; len(d.Hints) != 3 || h.Target != "/home/u/notes/a.md" || h.Missing != "write" || d.Attribution != Certain {
		t.Errorf("a fact that the text names, and that it was a write: %s", targets(d))
	}
	if got := strings.Join(d.Grant, "; "); got != `[[servers.github.access.fs]]; path = "~/notes/a.md"; write = true` {
		t.Errorf("more than the failure is about: %s", got)
	}
}

// TestRuleInTmp: a rule for a place in /tmp is of the host, not of the jail.
func TestRuleInTmp(t *testing.T) {
	ev := evidence("EROFS: read-only file system, open '/tmp/data/x'")
	ev.Profile = fixture(func(p *policy.Profile) {
		p.Entries = append(p.Entries, policy.Entry{Path: "/tmp/data", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule})
	})
	if d := Diagnose(ev); d.Attribution != Likely || d.Hints[0].Missing != "write" {
		t.Errorf("%s", d.Text())
	}
}

func TestOrder(t *testing.T) {
	ev := evidence("first: EACCES: permission denied, open '/data/notes/x.md'\nthen: EACCES: permission denied, open '/srv/models/m.bin'")
	ev.Stderr = []string{"EACCES: permission denied, open '/home/u/notes/a.md'"}
	d := Diagnose(ev)
	var got []string
	for _, h := range d.Hints {
		got = append(got, h.Target)
	}
	if s := strings.Join(got, " "); s != "/srv/models/m.bin /data/notes/x.md /home/u/notes/a.md" {
		t.Errorf("order %s", s)
	}
}

// TestDenialOfARename: the new name is on record, and what is moved was refused.
func TestDenialOfARename(t *testing.T) {
	ev := evidence("mv: cannot move 'src' to 'old': Device or resource busy")
	ev.Denials = []Denial{{Axis: policy.AxisFs, Operation: "rename", Target: "/home/u/work/old"}}
	d := Diagnose(ev)
	if d.Attribution != Certain || len(d.Grant) > 0 || strings.Contains(d.Text(), "report it") || !strings.Contains(d.Fix, "the old one stays in place") {
		t.Errorf("%s", d.Text())
	}
}

// TestDirectoryAboveUnprotected: a directory is no protected name because one could be
// made in it.
func TestDirectoryAboveUnprotected(t *testing.T) {
	ev := evidence("EROFS: read-only file system, open '/home/u/work/src/x.rs'")
	ev.Profile.Unprotected = append(ev.Profile.Unprotected, "/home/u/work/src/gen/.vscode")
	if d := Diagnose(ev); len(d.Grant) == 0 || strings.Contains(d.Text(), "protected name") {
		t.Errorf("%s", d.Text())
	}
}

// TestPlanOf: the command that advice names can be typed.
func TestPlanOf(t *testing.T) {
	ev := evidence("operation not permitted")
	if d := Diagnose(ev); !strings.Contains(d.Fix, "`mcp-jail plan github`") {
		t.Errorf("%s", d.Text())
	}
	ev.FromCommandLine = true
	if d := Diagnose(ev); !strings.Contains(d.Fix, "`mcp-jail plan` with the same arguments") {
		t.Errorf("%s", d.Text())
	}
}

// TestAcrossRules: no right is missing where a rename crosses the edge of a rule.
func TestAcrossRules(t *testing.T) {
	for _, text := range []string{
		"EXDEV: cross-device link not permitted, rename '/home/u/work/a' -> '/home/u/work/b/a'",
		"OSError: [Errno 18] Invalid cross-device link: '/home/u/work/a' -> '/home/u/work/b/a'",
	} {
		d := Diagnose(evidence(text))
		if d.Attribution != Possible || len(d.Grant) > 0 || strings.Contains(d.Cause, "EPERM") || !strings.Contains(d.Fix, "made beside it") {
			t.Errorf("%s", d.Text())
		}
	}
}

// TestProc: a rule for /proc is refused, so none is proposed.
func TestProc(t *testing.T) {
	for _, text := range []string{
		"EROFS: read-only file system, open '/proc/self/oom_score_adj'",
		"ENOENT: no such file or directory, open '/proc/meminfo'",
	} {
		ev := evidence(text)
		ev.Exists = func(p string) bool { return policy.Within(p, "/proc") || someHost.exists(p) }
		d := Diagnose(ev)
		if d.Attribution != Likely || len(d.Grant) > 0 || !strings.Contains(d.Fix, "no rule grants it") {
			t.Errorf("%s", d.Text())
		}
	}
}
