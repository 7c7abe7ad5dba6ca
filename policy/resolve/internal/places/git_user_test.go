package places

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestUserSettings has configurations and what of them git in a jail gets.
func TestUserSettings(t *testing.T) {
	long := strings.Repeat("x", maxValue+1)
	for _, c := range []struct{ name, home, xdg, want string }{
		{"none", "", "", ""},
		{"both", "[user]\nname = Me\nemail = me@example.com", "", "user.name=Me;user.email=me@example.com"},
		{"the file in the home wins", "[user]\nname = Me", "[user]\nname = Other\nemail = other@example.com", "user.name=Me;user.email=other@example.com"},
		{"the last value wins", "[user]\nname = A\nname = B", "", "user.name=B"},
		{"quotes and backslashes", `[user]` + "\n" + `name = "A \"B\" \\ #c"`, "", `user.name=A "B" \ #c`},
		{"what changes what is written", "[core]\nautoCRLF = input\neol\n[commit]\ncleanup = strip\n[init]\ndefaultBranch = main", "[core]\nautocrlf = true\nsafecrlf = warn", "core.autocrlf=input;core.eol=true;core.safecrlf=warn;commit.cleanup=strip;init.defaultbranch=main"},
		{"nothing else", "[credential]\nhelper = store\n[alias]\nx = !sh\n[core]\nhooksPath = /h\neditor = vi\n[user]\nsigningkey = K\n[url \"u\"]\ninsteadOf = v\n[gpg]\nprogram = x", "", ""},
		{"that commits are signed", "[commit]\ngpgSign\n[tag]\ngpgSign = true\nforceSignAnnotated = true", "[commit]\ngpgsign = false", "commit.gpgsign=true;tag.gpgsign=true;tag.forcesignannotated=true"},
		{"a filter is required, and its commands are dropped", "[filter \"lfs\"]\nclean = git-lfs clean -- %f\nprocess = git-lfs filter-process\n[filter \"none\"]\nrequired = true", "[filter \"a \\\"b\"]\nsmudge = x", "filter.a \"b.required=true;filter.lfs.required=true"},
		{"files", "[core]\nexcludesFile = ~/own\nattributesFile = ~/gone", "", "core.excludesfile=HOME/own"},
		{"no include", "[include]\npath = /nowhere/more\n[includeIf \"gitdir:/\"]\npath = /nowhere/more", "", ""},
		{"no subsection", "[user \"x\"]\nname = Me", "", ""},
		{"before a mistake", "[user]\nname = Me\n]\nemail = me@example.com", "", "user.name=Me"},
		{"several lines", `[user]` + "\n" + `name = "A\nB"` + "\n" + `email = "a\tb"`, "", ""},
		{"characters that cannot be seen", "[user]\nname = A\x1b[1mB\nemail = a\u202eb\u200bc", "", ""},
		{"no text", "[user]\nname = A\xffB", "", ""},
		{"safe directories", "[safe]\ndirectory = /forgotten\ndirectory =\ndirectory = ~/x\ndirectory = /a b\ndirectory = rel\ndirectory = *", "", "safe.directory=HOME/x;safe.directory=/a b;safe.directory=*"},
		{"too long", "[user]\nname = " + long + "\nemail = " + long[1:], "", "user.email=" + long[1:]},
	} {
		home := testkit.Plant(t, ".config/git/")
		testkit.WriteFile(t, home+"/.gitconfig", c.home)
		testkit.WriteFile(t, home+"/.config/git/config", c.xdg)
		t.Setenv("XDG_STATE_HOME", home+"/state")
		host, err := hostfs.LocalHostOf(home, nil)
		testkit.Must(t, err)
		b := NewMasks(Given{Policy: &policy.Policy{}, Host: &host, Paths: hostfs.NewLinkResolver(&host), Warn: func(string, string, string, ...any) {}}).Git
		b.settings["/etc/gitconfig"] = nil // not that of this host
		text := b.UserSettings(func(file string) bool { return strings.HasSuffix(file, "/own") })
		// As git itself reads it.
		settings, err := parseGitConfig([]byte(text))
		var said []string
		for _, s := range settings {
			said = append(said, s.name()+"="+s.value)
		}
		asGit(t, text, said)
		if got := strings.ReplaceAll(strings.Join(said, ";"), home, "HOME"); err != nil || got != c.want {
			t.Errorf("%s: %q, want %q (%v)", c.name, got, c.want, err)
		}
		if (text == "") != (c.want == "") {
			t.Errorf("%s: %q", c.name, text)
		}
	}
}
