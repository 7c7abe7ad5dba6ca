package git

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestIdentity has configurations and what of them git in a jail gets.
func TestIdentity(t *testing.T) {
	long := strings.Repeat("x", maxIdentity+1)
	for _, c := range []struct{ name, home, xdg, want string }{
		{"none", "", "", "|"},
		{"both", "[user]\nname = Me\nemail = me@example.com", "", "Me|me@example.com"},
		{"the file in the home wins", "[user]\nname = Me", "[user]\nname = Other\nemail = other@example.com", "Me|other@example.com"},
		{"the last value wins", "[user]\nname = A\nname = B", "", "B|"},
		{"quotes and backslashes", `[user]` + "\n" + `name = "A \"B\" \\ #c"`, "", `A "B" \ #c|`},
		{"nothing else", "[credential]\nhelper = store\n[alias]\nx = !sh\n[core]\nhooksPath = /h\n[user]\nsigningkey = K\n[url \"u\"]\ninsteadOf = v", "", "|"},
		{"no include", "[include]\npath = /nowhere/more\n[includeIf \"gitdir:/\"]\npath = /nowhere/more", "", "|"},
		{"no subsection", "[user \"x\"]\nname = Me", "", "|"},
		{"before a mistake", "[user]\nname = Me\n]\nemail = me@example.com", "", "Me|"},
		{"several lines", `[user]` + "\n" + `name = "A\nB"` + "\n" + `email = "a\tb"`, "", "|"},
		{"characters that cannot be seen", "[user]\nname = A\x1b[1mB\nemail = a\u202eb\u200bc", "", "|"},
		{"no text", "[user]\nname = A\xffB", "", "|"},
		{"too long", "[user]\nname = " + long + "\nemail = " + long[1:], "", "|" + long[1:]},
		{"safe directories", "[safe]\ndirectory = ~/x\ndirectory = /a b\ndirectory = rel\ndirectory = *", "", "| HOME/x /a b *"},
		{"safe directories, dropped", "[safe]\ndirectory =\ndirectory = /b", "[safe]\ndirectory = /a", "| /b"},
		{"too many safe directories", "[safe]\n" + strings.Repeat("directory = /a\n", maxSafeDirectories+1), "", "|" + strings.Repeat(" /a", maxSafeDirectories)},
	} {
		home := testkit.Plant(t, ".config/git/")
		testkit.WriteFile(t, home+"/.gitconfig", c.home)
		testkit.WriteFile(t, home+"/.config/git/config", c.xdg)
		t.Setenv("XDG_STATE_HOME", home+"/state")
		host, err := hostfs.LocalHostOf(home, nil)
		if err != nil {
			t.Fatal(err)
		}
		b := New(&host, hostfs.NewLinkResolver(&host), Calls{Warn: func(string, string, ...any) {}})
		b.settings["/etc/gitconfig"] = nil // not that of this host
		id := b.Identity()
		got := id.Name + "|" + id.Email
		for _, dir := range id.SafeDirectories {
			got += " " + strings.Replace(dir, home, "HOME", 1)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		// What git reads of the text that the jail has, as git itself reads it.
		settings, err := parseConfig([]byte(id.Config()))
		var said, want []string
		for _, s := range settings {
			said = append(said, s.name()+"="+s.value)
		}
		for _, value := range []string{"user.name=" + id.Name, "user.email=" + id.Email} {
			if !strings.HasSuffix(value, "=") {
				want = append(want, value)
			}
		}
		for _, dir := range id.SafeDirectories {
			want = append(want, "safe.directory="+dir)
		}
		if err != nil || fmt.Sprint(said) != fmt.Sprint(want) {
			t.Errorf("%s: the configuration says %q, want %q (%v)", c.name, said, want, err)
		}
		asGit(t, id.Config(), want)
		if (id.Config() == "") != (c.want == "|") {
			t.Errorf("%s: %q", c.name, id.Config())
		}
	}
}
