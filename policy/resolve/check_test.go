package resolve

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// checkRule returns the warning about a wide grant and the error of CheckFiles for one rule.
func checkRule(h hostfs.Host, r policy.FsRule) (wide string, err error) {
	h.Dir = ""
	_, ws, err := CheckFiles(&policy.Policy{Server: "s", Command: "server", Fs: []policy.FsRule{r}}, h)
	if i := slices.IndexFunc(ws, func(w policy.Warning) bool { return w.Code == "wide-grant" }); i >= 0 {
		wide = ws[i].Message
	}
	return wide, err
}

// TestTwoWays checks that a path with ".." behind a symbolic link is refused if the kernel and the
// text say different directories, wherever it is written.
func TestTwoWays(t *testing.T) {
	h := newFake(aSystem, `d /home/u/proj/a/b/c
d /home/u/proj/a/Documents
d /home/u/proj/sub
d /home/u/Documents
l /home/u/proj/x a/b/c
l /home/u/proj/beside sub
l /home/u/proj/gone nowhere/deep
l /proc/self 17
l /proc/17/cwd /home/u/proj`).host()
	for path, twoWays := range map[string]bool{
		"/home/u/proj/x/../../Documents": true, "~/proj/x/../../Documents": true, "x/..": true, "./x/../sub": true, "/home/u/proj/sub/../x/..": true, "/home/u/proj/gone/../sub": true, "/proc/self/cwd/../..": true,
		"/home/u/proj/sub/../a": false, "sub/../a": false, "beside/../a": false, "/home/u/proj/missing/../a": false, "x": false, "~/proj/../Documents": false, "..x": false, "/home/u/proj/x/../b/..": true,
	} {
		var errs []error
		for _, r := range []policy.FsRule{{Path: path}, {Path: path, Preset: true}, {Path: "~/Documents/own", Beside: path}} {
			r.Read, r.Update, r.Where = true, true, "--write"
			p := &policy.Policy{Server: "s", Command: "server", Fs: []policy.FsRule{r}, Limits: policy.DefaultLimits}
			_, _, err := Resolve(p, h)
			errs = append(errs, err)
		}
		_, _, err := Resolve(&policy.Policy{Server: "s", Command: "server", Workspace: path, Default: true, Fs: []policy.FsRule{policy.WorkspaceRule("write", policy.DefaultSource)}, Limits: policy.DefaultLimits}, h)
		for i, err := range append(errs, err) {
			if got := err != nil && strings.Contains(err.Error(), "goes up from there"); got != twoWays {
				t.Errorf("%s, form %d: %v", path, i, err)
			}
		}
	}
}

// TestCheckFiles checks that the warnings and errors about files are those of a start, and that
// relative rules are passed over where the directory is not known.
func TestCheckFiles(t *testing.T) {
	for _, c := range []struct {
		dir     string
		rules   []policy.FsRule // none: the default policy
		want    string          // the codes, or a part of the error
		granted []string
	}{
		{"/home/u/repo", nil, "", []string{"/home/u/repo"}},
		{"/home/u/repo/auto", nil, "no-workspace", nil},
		{"", nil, "", nil},
		{"/home/u/repo", []policy.FsRule{{Path: "sub/deep"}}, "", []string{"/home/u/repo/sub/deep"}},
		{"", []policy.FsRule{{Path: "sub/deep"}, {Path: "~/tools"}}, "", []string{"/home/u/tools"}},
		{"/home/u/repo", []policy.FsRule{{Path: ".."}}, "leaves the workspace", nil},
		{"/home/u/repo", []policy.FsRule{{Path: "auto"}}, "leaves the workspace", nil},
		{"/home/u/repo", []policy.FsRule{{Path: ".vscode"}}, "no-workspace", nil},
		{"", []policy.FsRule{{Path: "/home/u/repo/.vscode"}}, "protected-granted", []string{"/home/u/repo/.vscode"}},
		{"", []policy.FsRule{{Path: "~/repo/auto"}}, "deciding-granted", []string{"/home/u/.config/autostart"}},
		{"", []policy.FsRule{{Path: "~/.npm"}}, "deciding-granted", []string{"/home/u/.npm"}},
		{"", []policy.FsRule{{Path: "~"}}, "wide-grant", []string{"/home/u"}},
		{"", []policy.FsRule{{Path: "~/.config/google-chrome"}}, "sensitive-granted deciding-granted", []string{"/home/u/.config/google-chrome"}},
		{"", []policy.FsRule{{Path: "~/.local/state/mcp-jail"}}, "own-granted", []string{"/home/u/.local/state/mcp-jail"}},
		{"", []policy.FsRule{{Path: "~/gone"}}, "missing-path", nil},
		{"", []policy.FsRule{{Path: "~/gone", Optional: true}}, "", nil},
	} {
		h := placesHost()
		if h.Dir = c.dir; strings.HasSuffix(c.want, "own-granted") {
			h = newFake(aSystem, "d /home/u/.local/state/mcp-jail").host()
			h.Dir = ""
		}
		p := &policy.Policy{Server: "s", Command: "server", Default: c.rules == nil, Fs: c.rules, Limits: policy.DefaultLimits}
		if p.Default {
			p.Fs = []policy.FsRule{policy.WorkspaceRule("write", policy.DefaultSource)}
		}
		for i := range c.rules {
			c.rules[i].Preset, c.rules[i].Read, c.rules[i].Update, c.rules[i].Where = true, true, true, "preset x:1"
		}
		placed, ws, err := CheckFiles(p, h)
		var at []string
		for _, r := range placed {
			at = append(at, r.At)
		}
		got := codes(ws)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) || c.want == "" && got != "" || !slices.Equal(at, c.granted) {
			t.Errorf("%s, %+v: %s, %v", c.dir, c.rules, got, at)
		}
		if _, of, errStart := Resolve(p, h); c.dir != "" && (codes(of) != codes(ws) || (err == nil) != (errStart == nil)) {
			t.Errorf("%s, %+v: a start says %v, %v; CheckFiles %v, %v", c.dir, c.rules, of, errStart, ws, err)
		}
	}
}
