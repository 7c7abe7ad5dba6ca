package diagnostics

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

const privateHome = "/home/u/.local/state/mcp-jail/homes/github"

// keyHost is a host whose user keeps keys, programs and browsers in the home.
var keyHost = host{
	"/home/u/.thing/keys.json": true, "/home/u/.thing/more.json": true, "/home/u/.config/thing/token": true, "/home/u/keys/a.pem": true, "/home/u/.ssh/id_rsa": true,
	"/home/u/.github-mcp/oauth.json": true, "/home/u/.nvm/nvm.sh": true, "/home/u/.local/bin/tool": true, "/home/u/.aws/credentials": true,
	"/home/u/.cache/ms-playwright/chromium-1/chrome-linux/chrome": true, "/home/u/.pgpass": true, "/home/u/linked/token": true,
	privateHome + "/.own/x": true, privateHome + "/.file": true, "/home/u/.file/x": true, "/home/u/.own/x": true,
}

func inPrivateHome(text string) Evidence {
	ev := evidence(text)
	ev.Stage, ev.FromCommandLine = StageCall, true
	ev.Exists = func(path string) bool { return keyHost.exists(path) || someHost.exists(path) }
	ev.May = func(path string, r policy.Rights) bool {
		if !r.Has(policy.Execute) {
			return true
		}
		return strings.Contains(path, "/bin/") || strings.HasSuffix(path, "/chrome")
	}
	return ev
}

// TestPrivateHome: what the server does not find in its private HOME, and the user has in the home,
// is likely the cause, and a rule for the user's path shows it there.
func TestPrivateHome(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		flags      string
		cause      string
		sure       Attribution
		change     func(*policy.Profile)
	}{
		{"a file", "ENOENT: no such file or directory, open '" + privateHome + "/.thing/keys.json'", "--read ~/.thing/keys.json", `the server sees its private HOME in place of yours, and your "~/.thing/keys.json" is not in it`, Likely, nil},
		{"Python", "FileNotFoundError: [Errno 2] No such file or directory: '" + privateHome + "/.config/thing/token'", "--read ~/.config/thing/token", "its private HOME", Likely, nil},
		{"a directory", "Error: OAuth keys file not found. Please place gcp-oauth.keys.json in current directory or " + privateHome + "/.thing", "--read ~/.thing", "its private HOME", Likely, nil},
		{"a shell", "bash: line 1: " + privateHome + "/.thing/keys.json: No such file or directory", "--read ~/.thing/keys.json", "its private HOME", Likely, nil},
		{"for writing", "open " + privateHome + "/keys/a.pem: no such file or directory", "--read ~/keys/a.pem", "its private HOME", Likely, nil},
		{"a variable of the shell", "cat: $HOME/.thing/keys.json: No such file or directory", "--read ~/.thing/keys.json", "~/.thing/keys.json", Likely, nil},
		{"in braces", "Credentials not found at ${HOME}/.thing/keys.json", "--read ~/.thing/keys.json", "~/.thing/keys.json", Likely, nil},
		{"a tilde", "Credentials not found (expected ~/.thing/keys.json)", "--read ~/.thing/keys.json", "~/.thing/keys.json", Likely, nil},
		{"a directory with the server's name", "no such file: " + privateHome + "/.github-mcp/oauth.json", "--read ~/.github-mcp", "~/.github-mcp/oauth.json", Likely, nil},
		{"a second file", "ENOENT: no such file or directory, open '" + privateHome + "/.thing/keys.json'", "--read ~/.thing", "~/.thing/keys.json", Likely, func(p *policy.Profile) {
			p.Entries = append(p.Entries, policy.Entry{Path: "/home/u/.thing/more.json", Kind: policy.KindFile, Rights: policy.Read, Origin: policy.OriginRule})
		}},
		{"a version manager", "bash: line 1: " + privateHome + "/.nvm/nvm.sh: No such file or directory", "--execute ~/.nvm", "~/.nvm/nvm.sh", Likely, nil},
		{"a version manager by its real path", "bash: line 1: /home/u/.nvm/nvm.sh: No such file or directory", "--execute ~/.nvm", "~/.nvm/nvm.sh", Likely, nil},
		{"a program", "sh: 1: " + privateHome + "/.local/bin/tool: not found", "--execute ~/.local/bin/tool", "~/.local/bin/tool", Likely, nil},
		{"a sensitive path", "ENOENT: no such file or directory, open '" + privateHome + "/.aws/credentials'", "", `your "~/.aws/credentials" is not in it`, Likely, nil},
		{"of neither", "ENOENT: no such file or directory, open '" + privateHome + "/.none/keys.json'", "", "", None, nil},
		{"granted, and the server has its own", "invalid: file not found: " + privateHome + "/.file/x", "", `has something of the server's own in its place: "~/.local/state/mcp-jail/homes/github/.file"`, Possible, func(p *policy.Profile) {
			p.Entries = append(p.Entries, policy.Entry{Path: "/home/u/.file", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule})
		}},
		{"granted, and the server reads its own", "Error: invalid token in " + privateHome + "/.own/x", "", `something of the server's own in its place: "~/.local/state/mcp-jail/homes/github/.own/x"`, Possible, func(p *policy.Profile) {
			p.Entries = append(p.Entries, policy.Entry{Path: "/home/u/.own", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule})
		}},
		{"of the server alone", "Error: invalid token in " + privateHome + "/.own/x", "", "", None, nil},
		{"granted later", "file not found: " + privateHome + "/.thing/keys.json", "", "was not in the server's private HOME when it started", Possible, func(p *policy.Profile) {
			p.Entries = append(p.Entries, policy.Entry{Path: "/home/u/.thing", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule})
		}},
		{"the whole home", "ENOENT: no such file or directory, scandir '" + privateHome + "'", "", "", None, nil},
		{"a real home", "ENOENT: no such file or directory, open '" + privateHome + "/.thing/keys.json'", "", "", None, func(p *policy.Profile) { p.HomePrivate, p.Home = false, "/home/u" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := inPrivateHome(tt.text)
			if tt.change != nil {
				ev.Profile = fixture(tt.change)
			}
			d := Diagnose(ev)
			if got := strings.Join(d.Words, " "); got != tt.flags || d.Attribution != tt.sure || !strings.Contains(d.Cause, tt.cause) {
				t.Errorf("flags %q, want %q\n%s", got, tt.flags, d.Text())
			}
			if strings.Contains(told(d), "on this host either") {
				t.Errorf("%s", d.Text())
			}
		})
	}
}

// TestPrivateHomeStart: the same at the start, where what neither has is told as such, and for the
// stderr of a server that runs.
func TestPrivateHomeStart(t *testing.T) {
	start := func(text string) Evidence {
		ev := inPrivateHome("")
		ev.Stage, ev.Exit, ev.Stderr = StageStartup, &Exit{Code: 1}, []string{text}
		return ev
	}
	d := Diagnose(start("ENOENT: no such file or directory, open '" + privateHome + "/.none/keys.json'"))
	if d.Attribution != None || d.Cause != `"~/.none/keys.json" is neither in the server's private HOME nor in your home directory` || d.Words != nil {
		t.Errorf("%s", d.Text())
	}
	ev := start("warning: ENOENT: no such file or directory, open '" + privateHome + "/.thing/keys.json'")
	ev.Exit = nil
	if d, ok := Complaint(ev); !ok || !slices.Equal(d.Words, []string{"--read", "~/.thing/keys.json"}) {
		t.Errorf("%v: %s", ok, d.Text())
	}
	ev = start("warning: no such file: " + privateHome + "/.aws/credentials")
	ev.Exit = nil
	if d, ok := Complaint(ev); !ok || d.Words != nil || !strings.Contains(advised(d), "does with it: mcp-jail grant github --read ~/.aws/credentials") {
		t.Errorf("%v: %s", ok, d.Text())
	}
	ev = start("mkdir -p is missing: open " + privateHome + "/.thing/log.txt: no such file or directory, cannot create '" + privateHome + "/.thing/log.txt'")
	if d := Diagnose(ev); d.Attribution == Certain {
		t.Errorf("%s", d.Text())
	}
}

// TestLinkInHome: the rule has the name under which the server looks, and not that of the object.
func TestLinkInHome(t *testing.T) {
	for _, path := range []string{privateHome + "/linked/token", "/home/u/linked/token"} {
		ev := inPrivateHome("ENOENT: no such file or directory, open '" + path + "'")
		ev.Canonical = func(p string) string { return strings.Replace(p, "/home/u/linked", "/home/u/dotfiles/linked", 1) }
		exists := ev.Exists
		ev.Exists = func(p string) bool { return p == "/home/u/dotfiles/linked/token" || exists(p) }
		if d := Diagnose(ev); !slices.Equal(d.Words, []string{"--read", "~/linked/token"}) {
			t.Errorf("%s: %s", path, d.Text())
		}
	}
}
