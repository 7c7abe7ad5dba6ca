package seatbelt_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt/seatbelttest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// workspace returns the profile of the default policy for a workspace: the entries that Resolve makes.
func workspace(dir string) *policy.Profile {
	p := &policy.Profile{Links: []policy.Link{{Path: "/etc", Target: "private/etc"}}}
	entry := func(path string, k policy.Kind, r policy.Rights, o policy.Origin) {
		p.Entries = append(p.Entries, policy.Entry{Path: path, Kind: k, Rights: r, Origin: o})
	}
	entry("/System/Library", policy.KindDir, policy.Read|policy.Execute, policy.OriginBaseline)
	entry("/usr", policy.KindDir, policy.Read|policy.Execute, policy.OriginBaseline)
	entry("/private/etc/ssl", policy.KindDir, policy.Read, policy.OriginBaseline)
	entry("/private/etc/hosts", policy.KindFile, policy.Read, policy.OriginBaseline)
	entry("/Users/me/.local/state/mcp-jail/servers/demo/home", policy.KindDir, policy.AllRights, policy.OriginHome)
	entry(dir, policy.KindDir, policy.Read|policy.Write, policy.OriginRule)
	entry(dir+"/.env", policy.KindFile, 0, policy.OriginSensitive)
	entry(dir+"/.git/hooks", policy.KindDir, policy.Read, policy.OriginProtected)
	entry(dir+"/.git/config", policy.KindFile, policy.Read, policy.OriginProtected)
	slices.SortFunc(p.Entries, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
	for _, name := range policy.ProtectedPaths() {
		if name != ".git/hooks" && name != ".git/config" {
			p.Unprotected = append(p.Unprotected, dir+"/"+name)
		}
	}
	p.Unprotected = append(p.Unprotected, dir+"/secrets/token")
	slices.Sort(p.Unprotected)
	return p
}

func TestTexts(t *testing.T) {
	const self = "/opt/homebrew/bin/mcp-jail"
	// small keeps the texts short that are about something else than names.
	small := func() *policy.Profile {
		p := workspace("/Users/me/work")
		p.Unprotected = nil
		for i := range p.Entries {
			if p.Entries[i].Origin == policy.OriginRule {
				p.Entries[i].Rights = policy.Read
			}
		}
		return p
	}
	programs := small()
	programs.Programs = []string{"/usr/bin/git", "/usr/bin/true", "/Users/me/not-granted"}
	folded := workspace("/Users/me/work")
	folded.IgnoreCase = []string{"/Users/me/work"}
	bun := small()
	bun.ListOnly = []string{"/Users", "/Users/me"}
	allTemp := small()
	allTemp.Entries = append([]policy.Entry{{Path: "/private/tmp", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule}}, allTemp.Entries...)
	slices.SortFunc(allTemp.Entries, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
	gitDirs := workspace("/Users/me/work")
	gitDirs.GitDirs = []string{"/Users/me/work/store.git"}
	for name, in := range map[string]seatbelt.Input{
		"default":       {Profile: workspace("/Users/me/work")},
		"hosts":         {Profile: small(), ProxyPort: 4711, TempDir: "/private/tmp/mj-501-89abcdef"},
		"inbound":       {Profile: small(), Inbound: true},
		"programs":      {Profile: programs},
		"umlaut":        {Profile: workspace("/Users/me/\u00dcbung")},
		"one_process":   {Profile: small(), NoFork: true},
		"folded":        {Profile: folded},
		"git_dirs":      {Profile: gitDirs},
		"bun":           {Profile: bun},
		"all_temp":      {Profile: allTemp, TempDir: "/private/tmp/mj-501-89abcdef"},
		"older_system":  {Profile: small(), Without: seatbelt.Optional},
		"no_filesystem": {Profile: &policy.Profile{}},
	} {
		in.Self = self
		text, err := seatbelt.Compile(in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		golden(t, name, text)
	}
}

func golden(t *testing.T, name string, text seatbelt.Text) {
	got := text.Profile
	for _, p := range text.Params {
		got += "; -D " + p + "\n"
	}
	testkit.Golden(t, name+".sb", []byte(got))
}

// TestSpellings holds what an expression of a name matches, and what not.
func TestSpellings(t *testing.T) {
	p := &policy.Profile{
		Entries:     []policy.Entry{{Path: "/w", Kind: policy.KindDir, Rights: policy.AllRights, Origin: policy.OriginRule}},
		Unprotected: []string{"/w/office.key", "/w/K\u00e4se", "/w/a+b (1)"},
	}
	rules := compiled(t, p)
	for _, name := range []string{
		"office.key", "OFFICE.KEY", "o\ufb03ce.key", "offi\u200dce.key", "office.\u212aey", "office.key. .", "o\ufb00ice.key",
		"K\u00e4se", "Ka\u0308se", "k\u00c4SE", "\u212a\u00e4\u017fe", "a+b (1)", "A+B (1).", ".vscode", ".VsCode", ".v\u017fcode", ".vscode.", "\u200d.vscode",
	} {
		if allowedIn(rules, "/w/"+name) {
			t.Errorf("%q can be made", name)
		}
	}
	for _, name := range []string{"office_key", "office.keys", "officekey", "Kase", "Kaese", "aab (1)", "a+b", ".vscod", ".vscodes", "vscode", ".vs code"} {
		if !allowedIn(rules, "/w/"+name) {
			t.Errorf("%q cannot be made", name)
		}
	}
}

func allowedIn(rules []seatbelttest.Rule, name string) bool {
	return seatbelttest.Allowed(rules, "file-write-create", name, "")
}
