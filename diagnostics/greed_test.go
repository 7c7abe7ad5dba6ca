package diagnostics

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// homeHost is a host with what a home usually holds.
var homeHost = host{
	"/home/u/.bashrc": true, "/home/u/.profile": true, "/home/u/.config/app/app.toml": true, "/home/u/.config/systemd/user/x.service": true,
	"/home/u/.local/share/app/x": true, "/home/u/.cache/app/x": true, "/home/u/go/bin/gopls": true, "/home/u/tools/rg": true, "/home/u/docs/a": true,
	"/home/u/dotfiles/zshrc": true, "/home/u/work/out.txt": true, "/home/u/other/.git/hooks/x": true, "/var/log/x": true, "/opt/x/y": true, "/srv/x/y": true,
	"/tmp/x": true, "/usr/bin/node": true, "/etc/passwd": true, "/home/u/.ssh/id": true,
}

// greedy is a denial of a server that asks for more than it needs.
func greedy(operation, target string) Evidence {
	ev := evidence("")
	ev.FromCommandLine = true
	ev.Exists = homeHost.exists
	ev.SearchPath = "/usr/bin:/home/u/tools"
	ev.Canonical = func(path string) string {
		if path == "/home/u/.zshrc" {
			return "/home/u/dotfiles/zshrc"
		}
		return path
	}
	ev.Denials = []Denial{{Axis: policy.AxisFs, Operation: operation, Target: target}}
	return ev
}

// TestGreed: what a server tries may be certain, and still it chose the name. What
// is proposed is never more than the attempt needs outside of the jail, and says so
// where the host runs or obeys it.
func TestGreed(t *testing.T) {
	for _, tt := range []struct {
		operation, target string
		flags             string
		careful           string // a part of the warning; "" is none
	}{
		// To make what is there fails everywhere.
		{"mkdir", "/var", "", ""},
		{"mkdir", "/opt", "", ""},
		{"mkdir", "/srv", "", ""},
		{"mkdir", "/home/u", "", ""},
		{"mkdir", "/home/u/.config", "", ""},
		{"mkdir", "/home/u/.ssh", "", ""},
		{"mkdir", "/home/u/go", "", ""},
		{"mkdir", "/home/u/docs", "--read ~/docs", ""},
		{"create", "/home/u/docs", "--read ~/docs", ""},
		{"truncate", "/var", "", ""},
		{"remove", "/home/u/docs/nope", "", ""},
		{"mkdir", "/home/u/docs/new", "--write ~/docs/new/", ""},
		{"mkdir", "/home/u/new/er", "--write ~/new/er/", ""},
		{"mkdir", "/opt/new", "--write /opt/new", ""},

		// What the host runs or obeys.
		{"create", "/home/u/.bashrc", "", "run or obey"},
		{"create", "/home/u/.zprofile", "", "run or obey"},
		{"create", "/home/u/.config/autostart/evil.desktop", "", "run or obey"},
		{"create", "/home/u/.config/systemd/user/evil.service", "", "run or obey"},
		{"create", "/home/u/go/bin/zz", "", "run or obey"},
		{"create", "/home/u/.local/bin/zz", "", "run or obey"},
		{"create", "/home/u/tools/zz", "", "run or obey"},
		{"write", "/home/u/dotfiles/zshrc", "", "run or obey"},
		{"remove", "/home/u/dotfiles/zshrc", "", "holds"},
		{"remove", "/home/u/tools/rg", "", "run or obey"},
		{"create", "/home/u/go/zz", "", `holds "~/go/bin"`},
		{"create", "/home/u/other/.git/hooks/post-commit", "", "protected name"},
		{"write", "/home/u/other/.vscode/tasks.json", "", "protected name"},
		{"create", "/home/u/.ssh/authorized_keys", "", "run or obey"},
		{"create", "/var/spool/cron/u", "", "belongs to the system"},

		// Where other programs keep what is theirs.
		{"create", "/home/u/.config/foo/bar", "--write ~/.config/foo/", ""},
		{"create", "/home/u/.config/foo", "--write ~/.config/foo", ""},
		{"create", "/home/u/.local/share/foo/a/b", "--write ~/.local/share/foo/a/", ""},
		{"create", "/home/u/.cache/foo", "--write ~/.cache/foo", ""},
		{"create", "/home/u/foo/bar", "--write ~/foo/", ""},
		{"create", "/opt/foo/bar", "--write /opt/foo", ""},
		{"create", "/new/foo", "--write /new", ""},
		{"remove", "/home/u/.cache/app", "--write ~/.cache/app", ""},
		{"read", "/home/u/.config", "--read ~/.config", "all of it"},
		{"read", "/opt", "--read /opt", "all of it"},
		{"read", "/usr/bin", "", ""},
		{"create", "/home/u/docs/new", "--write ~/docs", ""},
	} {
		d := Diagnose(greedy(tt.operation, tt.target))
		if got := strings.Join(d.Flags, " "); got != tt.flags {
			t.Errorf("%s %s: proposes %q, want %q", tt.operation, tt.target, got, tt.flags)
		}
		w := d.Hints[0].Warning
		if w == "" && strings.Contains(d.Fix, "no line is proposed for it: ") {
			w = d.Fix
		}
		if !strings.Contains(w, tt.careful) || tt.careful == "" && w != "" || w != "" && w != d.Fix && !strings.Contains(d.Fix, "careful: ") {
			t.Errorf("%s %s: warns %q, want %q\n%s", tt.operation, tt.target, w, tt.careful, d.Text())
		}
	}
}

// TestGreedInWords: text names what it likes, too.
func TestGreedInWords(t *testing.T) {
	for text, want := range map[string]string{
		`Error: EACCES: permission denied, open "~/.config/foo/bar"`:           "--write ~/.config/foo/",
		`Error: EACCES: permission denied, open '/home/u/.config/autostart/x'`: "",
		`mkdir: cannot create directory ‘/var’: Permission denied`:             "",
		`Error: EACCES: permission denied, mkdir '/home/u/.local'`:             "",
		`KeyError: 'LD_PRELOAD'`:                                                    "--env LD_PRELOAD careful",
		`Error: NODE_OPTIONS environment variable is required`:                      "",
		`Error: FOO_TOKEN environment variable is required`:                         "--env FOO_TOKEN",
		"Error: FOO_TOKEN environment variable is required\nKeyError: 'LD_PRELOAD'": "--env LD_PRELOAD --env FOO_TOKEN careful",
		"KeyError: 'LD_PRELOAD'\nError: FOO_TOKEN environment variable is required": "--env FOO_TOKEN",
	} {
		ev := greedy("", "")
		ev.Denials, ev.Text = nil, text
		ev.Profile.Withheld = append(ev.Profile.Withheld, "LD_PRELOAD")
		d := Diagnose(ev)
		got := strings.Join(d.Flags, " ")
		if strings.Contains(d.Fix, "careful: ") {
			got += " careful"
		}
		if got != want {
			t.Errorf("%s: %q, want %q\n%s", text, got, want, d.Text())
		}
	}
}
