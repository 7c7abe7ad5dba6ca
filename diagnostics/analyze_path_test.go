package diagnostics

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

func TestLinkInTheProfile(t *testing.T) {
	ev := evidence(`Error: ENOENT: no such file or directory, open '/home/u/work/link/x.md'`)
	ev.Exists = func(string) bool { return true }
	ev.Canonical = func(p string) string { return strings.Replace(p, "/home/u/work/link", "/data/notes", 1) }
	d := Diagnose(ev)
	// A relative rule that leaves the workspace through a link is an error.
	if got := strings.Join(d.Words, " "); got != `--read /data/notes/x.md` {
		t.Errorf("grant %s", got)
	}
	if d := Diagnose(evidence(`env: 'git': Permission denied: /bin/git`)); d.Attribution == Likely {
		t.Errorf("/bin is a link to a place that is granted: %s", d.Text())
	}
}

// TestLinkByItsName covers a file of the working directory that is named without a slash:
// it is not taken for a program, and a link is followed.
func TestLinkByItsName(t *testing.T) {
	for target, want := range map[string]struct {
		attribution Attribution
		target      string
	}{
		"/home/u/notes/a.md":     {Likely, "/home/u/notes/a.md"},
		"/home/u/work/out.txt":   {None, ""}, // it is granted
		"/home/u/nowhere/at/all": {None, ""}, // nor is it on the host
	} {
		ev := evidence("FileNotFoundError: [Errno 2] No such file or directory: 'key'")
		exists := ev.Exists
		ev.Exists = func(path string) bool { return path == "/home/u/work/key" || exists(path) }
		ev.Canonical = func(path string) string {
			if path == "/home/u/work/key" {
				return target
			}
			return path
		}
		d := Diagnose(ev)
		got := ""
		if len(d.Hints) > 0 {
			got = d.Hints[0].Target
		}
		if d.Attribution != want.attribution || got != want.target {
			t.Errorf("%s: %s %q, want %+v: %s", target, d.Attribution, got, want, d.Cause)
		}
	}
}

// TestLinkByABareWord covers cat, which names a link of the working directory without
// quotes, dot or slash. The cause tells where the link leads. A word that is not a link
// counts as a word of the sentence.
func TestLinkByABareWord(t *testing.T) {
	for text, fault := range map[string]string{
		"cat: key: Permission denied":         "",
		"cat: key: No such file or directory": "",
		"cat: out: Permission denied":         "no link",
	} {
		ev := evidence(text)
		exists := ev.Exists
		ev.Exists = func(path string) bool {
			return path == "/home/u/work/key" || path == "/home/u/work/out" || exists(path)
		}
		ev.Canonical = func(path string) string {
			if path == "/home/u/work/key" {
				return "/home/u/work/.env"
			}
			return path
		}
		d := Diagnose(ev)
		blamed := len(d.Hints) > 0 && d.Hints[0].Target == "/home/u/work/.env" && strings.Contains(d.Cause, `key is a link that leads to .env, outside of what is granted`)
		if blamed != (fault == "") || len(d.Words) > 0 {
			t.Errorf("%s: %s %q %q", text, d.Attribution, d.Cause, d.Words)
		}
	}
}

// TestLinkOutOfGranted tests that the cause names a link that leads out of the granted places, and
// its target, and that the grant is for the target. A link in a place that is not granted is not
// named.
func TestLinkOutOfGranted(t *testing.T) {
	for path, want := range map[string]struct{ says, flags string }{
		"/data/in/link/x.md": {`/data/in/link is a link that leads to /data/notes, outside of what is granted`, "--read /data/notes/x.md"},
		"/data/in/x.md":      {`/data/in/x.md is a link that leads to /data/notes/x.md, outside of what is granted`, "--read /data/notes/x.md"},
		"/at/in/link/x.md":   {`/data/in/link is a link that leads to /data/notes, outside of what is granted`, "--read /data/notes/x.md"},
		"/data/out/link":     {"", "--read /data/notes"},
		"/data/notes/x.md":   {"", "--read /data/notes/x.md"},
	} {
		ev := evidence("EACCES: permission denied, open '" + path + "'")
		ev.FromCommandLine = true
		ev.Profile.Entries = append([]policy.Entry{{Path: "/data/in", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule}}, ev.Profile.Entries...)
		ev.Canonical = func(path string) string {
			path = strings.Replace(path, "/at/", "/data/", 1)
			for _, link := range []string{"/data/in/link", "/data/in/x.md", "/data/out/link"} {
				if rest, ok := strings.CutPrefix(path, link); ok {
					return "/data/notes" + strings.TrimPrefix(link+rest, strings.TrimSuffix(link, "/x.md"))
				}
			}
			return path
		}
		d := Diagnose(ev)
		if strings.Join(d.Words, " ") != want.flags || !strings.Contains(d.Cause, want.says) || (want.says == "") == strings.Contains(d.Cause, "is a link") {
			t.Errorf("%s: %q: %s", path, d.Words, d.Cause)
		}
	}
}

// TestShellProgramOutside covers a shell that did not find a file. If the file is
// executable, the first proposed line grants execute. For another file it grants read.
func TestShellProgramOutside(t *testing.T) {
	for path, execute := range map[string]bool{"/srv/models/run": true, "/srv/models/m.bin": false} {
		ev := evidence("bash: line 1: " + path + ": No such file or directory")
		exists := ev.Exists
		ev.Exists = func(p string) bool { return p == "/srv/models/run" || exists(p) }
		ev.May = func(p string, r policy.Rights) bool {
			if !r.Has(policy.Execute) {
				return true
			}
			return p == "/srv/models/run"
		}
		grant := strings.Join(Diagnose(ev).Words, "\n")
		if !strings.Contains(grant, path) || strings.Contains(grant, "--execute") != execute || strings.Contains(grant, "write") {
			t.Errorf("%s: %s", path, grant)
		}
	}
}

// TestSocketInJailPlace covers a socket in the host's /tmp. The jail has its own writable
// /tmp without the socket, so a rule for the socket is needed.
func TestSocketInJailPlace(t *testing.T) {
	ev := evidence("curl: (7) Failed to connect to x port 80 after 0 ms: Couldn't connect to server")
	ev.Denials = []policy.Denial{{Axis: policy.AxisIPC, Operation: "connect", Target: "/tmp/shared.sock", Count: 1}}
	d := Diagnose(ev)
	if grant := strings.Join(d.Words, "\n"); !strings.Contains(grant, "--write\n/tmp/shared.sock") || !strings.Contains(d.Cause, "/tmp of its own") {
		t.Errorf("%s: %s; %s", d.Cause, d.Fix, grant)
	}
}
