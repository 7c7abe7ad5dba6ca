package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan/plantest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestLinksOfHome tests that a HOME which is empty at the start of a call gets its links from the plan,
// and every other HOME none.
func TestLinksOfHome(t *testing.T) {
	p := plantest.Profile()
	p.Home, p.HomePrivate = "/state/home", true
	p.HomeLinks = []policy.HomeLink{{Path: ".a", Target: "/home/u/.a", Dir: true}, {Path: ".a/b", Target: "/home/u/.a/b"}, {Path: "c/d", Target: "/data/d"}}
	for _, c := range []struct {
		ephemeral          bool
		overlay, namespace features.Feature
		want               string
	}{
		{false, features.Available(""), features.Available(""), ""},
		{true, features.Available(""), features.Available(""), ""},
		{true, features.Unavailable("", ""), features.Available(""), "/state/home/.a=/home/u/.a /state/home/c/d=/data/d "},
		{false, features.Unavailable("", ""), features.Unavailable("", ""), ""},
		{true, features.Unavailable("", ""), features.Unavailable("", ""), "/temp/home/.a=/home/u/.a /temp/home/c/d=/data/d "},
	} {
		p := *p
		p.Entries = append(slices.Clone(p.Entries), policy.Entry{Path: "/state/home", Kind: policy.KindDir, Rights: policy.AllRights, Origin: policy.OriginHome, Make: true, Ephemeral: c.ephemeral})
		f := plantest.Kernel()
		f.Overlay, f.UserNamespaces, f.TempDir = c.overlay, c.namespace, "/temp"
		got := ""
		for _, l := range Compile(&p, f, Watching{}).Spec.Links {
			if l.Path != "/bin" {
				got += l.Path + "=" + l.Target + " "
			}
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
}

// TestGitIdentity tests which file git gets as the system's configuration, and that a rule goes before.
func TestGitIdentity(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(p *policy.Profile, f *features.Facts)
		file string // "" for none
		env  string
	}{
		{"none", func(p *policy.Profile, f *features.Facts) { p.GitConfig = "" }, "", ""},
		{"none, without namespaces", func(p *policy.Profile, f *features.Facts) { p.GitConfig = ""; refuseNamespaces(f) }, "", "GIT_CONFIG_NOSYSTEM=1"},
		{"mounts", func(p *policy.Profile, f *features.Facts) {}, "/etc/gitconfig", "GIT_CONFIG_SYSTEM=/etc/gitconfig"},
		{"without namespaces", func(p *policy.Profile, f *features.Facts) { refuseNamespaces(f) }, "/tmp/mcp-jail-x/gitconfig", "GIT_CONFIG_SYSTEM=/tmp/mcp-jail-x/gitconfig"},
		{"a rule grants the host's", func(p *policy.Profile, f *features.Facts) {
			p.Entries = append(p.Entries, policy.Entry{Path: "/etc/gitconfig", Kind: policy.KindFile, Rights: policy.Read, Origin: policy.OriginRule})
			slices.SortFunc(p.Entries, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
		}, "", ""},
		{"a rule grants everything", func(p *policy.Profile, f *features.Facts) {
			p.Entries = append([]policy.Entry{{Path: "/", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule}}, p.Entries...)
		}, "/dev/gitconfig", "GIT_CONFIG_SYSTEM=/dev/gitconfig"},
		{"a rule forwards a variable", func(p *policy.Profile, f *features.Facts) {
			p.Env = append(p.Env, policy.Variable{Name: "GIT_CONFIG_SYSTEM", Value: "/x"})
		}, "", "GIT_CONFIG_SYSTEM=/x"},
		{"a rule forwards the other one", func(p *policy.Profile, f *features.Facts) {
			p.Env = append(p.Env, policy.Variable{Name: "GIT_CONFIG_NOSYSTEM", Value: "1"})
			refuseNamespaces(f)
		}, "", "GIT_CONFIG_NOSYSTEM=1"},
	} {
		p, f := plantest.Profile(), plantest.Kernel()
		p.GitConfig = "me"
		c.edit(p, &f)
		s, file, env := Compile(p, f, Watching{}).Spec, "", ""
		for _, made := range s.Files {
			if made.Content == "me" {
				file += made.Path
			}
		}
		for _, v := range s.Env {
			if strings.HasPrefix(v, "GIT_") {
				env += v
			}
		}
		if file != c.file || env != c.env {
			t.Errorf("%s: %q with %q, want %q with %q", c.name, file, env, c.file, c.env)
		}
	}
}
