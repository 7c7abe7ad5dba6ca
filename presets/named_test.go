package presets

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// A named value is a value of a preset, with an entry that gives it.
type named struct {
	preset *Preset
	label  string
	value  Value
	entry  func(value string) Entry
}

// allValues returns the values of all presets: every variable and every argument.
func allValues(t *testing.T) (all []named) {
	t.Helper()
	for _, name := range Names() {
		p := testkit.Get(Find(name))(t)
		for _, v := range p.Variables {
			all = append(all, named{p, v.Name, v.Value, func(value string) Entry { return Entry{Env: map[string]string{v.Name: value}} }})
		}
		for _, a := range p.Arguments {
			all = append(all, named{p, a.label(), a.Value, func(value string) Entry {
				if a.Flag != "" {
					return Entry{Args: []string{a.Flag, value}}
				}
				words := slices.Repeat([]string{"-"}, max(a.Position, 1)) // "-" is a word of its own, and no path
				words[len(words)-1] = value
				return Entry{Args: words}
			}})
		}
	}
	if len(all) < 250 {
		t.Fatalf("%d values", len(all))
	}
	return all
}

// added returns the rules for files that an entry adds to those of its preset.
func (n named) added(value string) (rules []policy.FsRule) {
	of := func(e Entry) []policy.FsRule {
		if a := n.preset.For(e).Server.Access; a != nil {
			return a.Fs
		}
		return nil
	}
	before := of(Entry{})
	return slices.DeleteFunc(of(n.entry(value)), func(r policy.FsRule) bool { return slices.Contains(before, r) })
}

// home is the host of a user without any file.
func home() *hostfs.Host {
	dirs := []string{"/", "/home", "/home/u", "/tmp", "/etc"}
	return &hostfs.Host{
		Lstat: func(p string) (hostfs.FileInfo, error) {
			if slices.Contains(dirs, p) {
				return hostfs.FileInfo{Mode: fs.ModeDir | 0o755}, nil
			}
			return hostfs.FileInfo{}, fs.ErrNotExist
		},
		ReadDir:  func(string) ([]hostfs.DirEntry, error) { return nil, fs.ErrNotExist },
		ReadHead: func(string, int) ([]byte, error) { return nil, fs.ErrNotExist },
		OS:       "linux", UID: 1000, Home: "/home/u", Dir: "/home/u/proj",
		ConfigDir: "/home/u/.config/mcp-jail", StateDir: "/home/u/.local/state/mcp-jail", CacheDir: "/home/u/.cache/mcp-jail",
	}
}

// TestNamed tests every variable and argument of every preset: a rule is for exactly the file or
// directory that the value names, and there is none for a variable that begins with "~". A rule for
// the directory around a file says so, and is refused where that directory is shared.
func TestNamed(t *testing.T) {
	h, wide, kept := *home(), 0, 0
	h.Dir = "" // for paths that are not relative
	for _, n := range allValues(t) {
		for _, dir := range []string{"/home/u", "~", "/", "/home", "/tmp", "/home/u/.config", "/home/u/.local/share", "/home/u/.cache", "/home/u/Documents", "/etc", "/usr/lib", "/home/u/.ssh", "/home/u/notes"} {
			value := path.Join(dir, "m.json")
			rules := n.added(value)
			if n.value.Kind != file && n.value.Kind != directory {
				testkit.Empty(t, fmt.Sprintf("%s %s", n.preset.Name, n.label), rules)
				continue
			}
			if isVariable := slices.ContainsFunc(n.preset.Variables, func(v variable) bool { return v.Name == n.label }); dir == "~" && isVariable {
				testkit.Empty(t, fmt.Sprintf("%s %s = %s", n.preset.Name, n.label, value), rules)
				if n.value.Beside {
					wide++
				}
				continue
			}
			testkit.MustEqual(t, fmt.Sprintf("%s %s = %s: %+v", n.preset.Name, n.label, value, rules), len(rules), 1)
			r := rules[0]
			_, _, err := resolve.CheckFiles(&policy.Policy{Server: "s", Command: "server", Fs: []policy.FsRule{r}}, h)
			switch own := dir == "/home/u/notes"; {
			case r.Path == value && r.Beside == "" && !n.value.Beside:
				testkit.Works(t, fmt.Sprintf("%s %s = %s", n.preset.Name, n.label, value), err)
			case r.Path != path.Dir(value) || r.Beside != value || !n.value.Beside:
				t.Errorf("%s %s = %s: %+v", n.preset.Name, n.label, value, r)
			case own != (err == nil):
				t.Errorf("%s %s = %s: %v", n.preset.Name, n.label, value, err)
			case own:
				kept++
			default:
				wide++
			}
			if want := fmt.Sprintf("preset %s: ", n.preset.Name); !strings.HasPrefix(r.Where, want) {
				t.Errorf("%s %s: the rule is of %q", n.preset.Name, n.label, r.Where)
			}
		}
	}
	if kept == 0 || wide != 12*kept {
		t.Errorf("%d directories were refused, and %d were granted", wide, kept)
	}
}

// TestNamedHosts tests every variable and argument of every preset: a rule is for the host that the
// value names, or for one of the names below it that the preset lists.
func TestNamedHosts(t *testing.T) {
	rules := func(n named, e Entry) (hosts []string) {
		if a := n.preset.For(e).Server.Access; a != nil {
			for _, r := range a.Net {
				hosts = append(hosts, r.Host)
			}
		}
		return hosts
	}
	tried := 0
	for _, n := range allValues(t) {
		own := rules(n, Entry{})
		for _, value := range []string{"postgres://u:p@h.example/x", "https://h.example/x", "h.example", "*", "*.example", "https://*", "https://*.example:1/x", "http://*/", "postgres://*/x"} {
			for _, host := range rules(n, n.entry(value)) {
				sub, is := strings.CutSuffix(host, ".h.example")
				switch {
				case slices.Contains(own, host):
				case host == "h.example" || is && slices.Contains(n.value.Below, sub):
					tried++
				default:
					t.Errorf("%s %s = %s: %s", n.preset.Name, n.label, value, host)
				}
			}
		}
	}
	if tried < 20 {
		t.Errorf("%d hosts", tried)
	}
}

// TestFixedPaths tests that no preset by itself lets a server write to the home directory or another
// shared directory, and that its rules are known as those of a preset.
func TestFixedPaths(t *testing.T) {
	h, tried := home(), 0
	for _, name := range Names() {
		p := testkit.Get(Find(name))(t)
		if p.Server.Access == nil {
			continue
		}
		for _, r := range p.Server.Access.Fs {
			tried++
			abs := path.Join("/home/u/proj", strings.Replace(r.Path, "~", "../", 1))
			if why := resolve.Shared(h, &policy.Policy{}, abs); !r.Preset || why != "" && r.Path != "." && r.Rights()&policy.Write != 0 {
				t.Errorf("%s: %s, which %s", name, r.Path, why)
			}
		}
	}
	if tried == 0 {
		t.Error("no rules")
	}
}
