package granting

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestPath: a path that a person typed is written so that each directory reads it alike.
func TestPath(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{"proj/sub", "real/inner"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("real/inner", filepath.Join(home, "link")); err != nil {
		t.Fatal(err)
	}
	p := Person{Home: home, Dir: filepath.Join(home, "proj")}
	for typed, want := range map[string]string{
		"a": "~/proj/a", "./a/": "~/proj/a/", ".": "~/proj", "..": "~/", "../x": "~/x", "../../y": filepath.Join(filepath.Dir(home), "y"),
		"~": "~/", "~/": "~/", "~/a b": "~/a b", "~/a//b/": "~/a/b/", "/": "/", "/etc/": "/etc/", "/srv/./x": "/srv/x",
		home: "~/", home + "/n": "~/n", home + "x": home + "x", "-x": "~/proj/-x", "~bob": "~/proj/~bob",
		"../link/f": "~/link/f",
	} {
		got, err := p.Path(typed)
		if err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", typed, got, err, want)
		}
		if whole := p.Whole(want); err == nil && !filepath.IsAbs(whole) {
			t.Errorf("%q: %q is not absolute", typed, whole)
		}
	}
	if got, err := p.Path("../link/../x"); err == nil {
		t.Errorf("a path that can be read in two ways: %q", got)
	}
	if path, err := (Person{Home: "/", Dir: "/d"}).Path("/a"); err != nil || path != "/a" {
		t.Errorf("with the home /: %q, %v", path, err)
	}
}

// TestAdd: of some flags there is one, and the others are repeatable.
func TestAdd(t *testing.T) {
	for _, c := range []struct{ before, add, want string }{
		{"--read a", "--read b", "--read a --read b"},
		{"--workspace a --read b", "--workspace c", "--workspace c --read b"},
		{"--workspace=a", "--workspace c", "--workspace c"},
		{"--limit memory_mb=1 --limit processes=2", "--limit memory_mb=3", "--limit memory_mb=3 --limit processes=2"},
		{"--limit memory_mb=1", "--limit processes=2", "--limit memory_mb=1 --limit processes=2"},
		{"--home private", "--home real", "--home real"},
		{"--env A --net=b", "--env B", "--env A --net=b --env B"},
	} {
		got := Words(Add(Split(strings.Fields(c.before)), Split(strings.Fields(c.add))[0]))
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s and %s: %s, want %s", c.before, c.add, got, c.want)
		}
	}
	if got := Words([]Flag{NewFlag("--read", "-x")}); !slices.Equal(got, []string{"--read=-x"}) {
		t.Errorf("a value like a flag: %q", got)
	}
}

// TestIsDefault: which flags keep the default policy.
func TestIsDefault(t *testing.T) {
	for line, want := range map[string]bool{
		"": true, "--name x": true, "--env A": true, "--limit memory_mb=1": true, "--deny x": true, "--inbound 1": true, "--workspace /x": true, "--home=real": true,
		"--read x": false, "--write=x": false, "--execute x": false, "--net x": false, "--preset github": false,
	} {
		if got := IsDefault(Split(strings.Fields(line))); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

// TestGrants: what a policy grants already, and what only looks like it.
func TestGrants(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, dir := filepath.Join(base, "home"), filepath.Join(base, "proj")
	for _, file := range []string{"home/.ssh/id_rsa", "home/notes/a/b", "home/other/x", "proj/in/x", "proj/.git/hooks/x", "home/.config/mcp-jail/config.toml"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(base, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(base, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(home, "notes"), filepath.Join(home, "link")); err != nil {
		t.Fatal(err)
	}
	host := localHost(t, home, dir)
	for _, c := range []struct {
		flags, flag string
		want        bool
	}{
		{"", "--read in/x", true}, {"", "--write in", true}, {"", "--execute in/x", false}, {"", "--read ~/notes", false},
		{"", "--write .git/hooks", false}, {"", "--read .git/hooks", true},
		{"--read ~/notes", "--read ~/notes/a/b", true}, {"--read ~/notes", "--read " + home + "/notes/", true}, {"--read ~/notes", "--read ~/link/a", true},
		{"--read ~/notes", "--write ~/notes/a", false}, {"--read ~/notes", "--read ~/notesx", false}, {"--read ~/notes", "--read in", false},
		{"--write ~/notes", "--read ~/notes", true}, {"--write ~/notes", "--write ~/notes/new", true}, {"--write ~/notes --read ~/notes/a", "--write ~/notes/a/b", false},
		{"--write ~/notes --deny ~/notes/a", "--read ~/notes/a/b", false}, {"--read ~/notes --deny ~/notes/a", "--deny ~/notes/a", true}, {"--read ~/notes", "--deny ~/notes/a", false},
		{"--read ~", "--read ~/.ssh", false}, {"--read ~ --read ~/.ssh/id_rsa", "--read ~/.ssh/id_rsa", true},
		{"--write ~/.config", "--write ~/.config/mcp-jail", false},
		{"--write ~/.ssh/id_rsa", "--read ~/.ssh/id_rsa", true}, // the rule names it
		{"--workspace " + dir + "/in --write x", "--read x", true}, {"--workspace " + dir + "/in --write x", "--read ../x", false},
		{"--execute ~/other", "--read ~/other/x", true},
		{"--net a.test", "--net a.test", true}, {"--net a.test", "--net a.test:443", true}, {"--net a.test", "--net a.test:8080", false}, {"--net a.test:8080", "--net a.test", false}, {"--net a.test:443", "--net a.test", false},
		{"--net *.a.test", "--net x.a.test", true}, {"--net *.a.test", "--net a.test", false}, {"--net A.test", "--net a.test.", true}, {"--net a.test", "--net ://", false},
		{"--env A", "--env A", true}, {"--env A*", "--env AB", true}, {"--env A", "--env AB", false},
		{"--limit memory_mb=500", "--limit memory_mb=400", true}, {"--limit memory_mb=500", "--limit memory_mb=600", false}, {"--limit processes=500", "--limit memory_mb=4", false},
		{"--home real", "--home real", true}, {"", "--home real", false}, {"--inbound 80", "--inbound 80", true}, {"--inbound 80", "--inbound 81", false},
	} {
		flags := Split(strings.Fields(c.flags))
		o := config.CommandLineOptions{Command: []string{"x"}, Dir: dir}
		lists := map[string]*[]string{"--read": &o.Read, "--write": &o.Write, "--execute": &o.Execute, "--deny": &o.Deny, "--net": &o.Net, "--env": &o.Env, "--limit": &o.Limit, "--inbound": &o.Inbound}
		for _, f := range flags {
			switch list := lists[f.Name]; {
			case list != nil:
				*list = append(*list, f.Value)
			case f.Name == "--workspace":
				o.Workspace = f.Value
			default:
				o.Home = f.Value
			}
		}
		p, err := config.FromCommandLine(o)
		if err != nil {
			t.Fatal(c.flags, err)
		}
		if by := NewScope(p, host, flags).Grants(Split(strings.Fields(c.flag))[0]); (by != "") != c.want {
			t.Errorf("%q grants %s by %q, want %v", c.flags, c.flag, by, c.want)
		}
	}
}

func localHost(t *testing.T, home, dir string) hostfs.Host {
	host, err := hostfs.LocalHost()
	if err != nil {
		t.Fatal(err)
	}
	host.Home, host.Dir = home, dir
	host.ConfigDir, host.StateDir = filepath.Join(home, ".config/mcp-jail"), filepath.Join(home, ".local/state/mcp-jail")
	host.CacheDir, host.DataDir = filepath.Join(home, ".cache/mcp-jail"), filepath.Join(home, ".local/share/mcp-jail")
	return host
}

// TestGuards: which grants no text of a server leads to by itself, and which it never leads to.
func TestGuards(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{".ssh", "notes", "repo/.git/hooks", ".config/mcp-jail"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(".ssh", filepath.Join(home, "innocent")); err != nil {
		t.Fatal(err)
	}
	p, err := config.FromCommandLine(config.CommandLineOptions{Command: []string{"x"}, Dir: home})
	if err != nil {
		t.Fatal(err)
	}
	s := NewScope(p, localHost(t, home, filepath.Join(home, "repo")), nil)
	for flag, want := range map[string]string{
		"--read ~/notes": "", "--write ~/notes": "", "--net a.test": "", "--env A": "", "--write ~/repo": "",
		"--read ~/.ssh": "asked", "--read ~/.ssh/id_rsa": "asked", "--read ~/innocent": "asked", "--write ~/repo/.git/hooks": "asked", "--read ~/repo/.git/hooks": "",
		"--write ~/.config/mcp-jail": "never", "--write ~/.config/mcp-jail/config.toml": "never",
	} {
		why, never := s.Guards(Split(strings.Fields(flag))[0])
		got := ""
		if never {
			got = "never"
		} else if why != "" {
			got = "asked"
		}
		if got != want {
			t.Errorf("%s: %q (%s), want %q", flag, got, why, want)
		}
	}
}

// TestPathOfWindows: drives, backslashes and ~\ on Windows, where names have no case.
func TestPathOfWindows(t *testing.T) {
	p := Person{System: "windows", Home: `C:\Users\U`, Dir: `C:\Users\U\proj`}
	for typed, want := range map[string]string{
		"a": "~/proj/a", `.\a\`: "~/proj/a/", ".": "~/proj", "..": "~/", `..\x`: "~/x", `..\..\y`: `C:\Users\y`,
		"~": "~/", `~\`: "~/", `~\a b\c`: "~/a b/c", "~/a/": "~/a/", `c:\users\u\N`: "~/N", `C:\Users\Ux`: `C:\Users\Ux`,
		`D:\x\`: `D:\x\`, "d:/x/./y": `D:\x\y`, `C:\`: `C:\`, `\srv\x`: `C:\srv\x`, "/srv/x": `C:\srv\x`,
		`\\server\share`: "", `C:x`: "", `D:\PROGRA~1`: "", `%USERPROFILE%\x`: "", `D:\x:s`: "", "~bob": "~/proj/~bob",
	} {
		got, err := p.Path(typed)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", typed, got, err, want)
		}
		if err == nil {
			again, err := p.Path(p.Whole(got))
			if err != nil || strings.TrimRight(again, `\/`) != strings.TrimRight(got, `\/`) {
				t.Errorf("%q is whole as %q, and that is %q, %v", got, p.Whole(got), again, err)
			}
		}
	}
	for _, home := range []string{`C:\`, ""} {
		if got, err := (Person{System: "windows", Home: home, Dir: `C:\d`}).Path("a"); got != `C:\d\a` || err != nil {
			t.Errorf("the home %q: %q, %v", home, got, err)
		}
	}
}
