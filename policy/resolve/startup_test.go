package resolve

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestStartupFiles: a grant of the home directory does not extend to what the user's own
// shells, sessions and editors run next.
func TestStartupFiles(t *testing.T) {
	h := newFake(aSystem, `
		f /home/u/.bashrc
		f /home/u/.config/git/config
		f /home/u/.config/git/credentials
		d /home/u/.config/systemd/user
		f /home/u/.config/Code/User/tasks.json
		f /home/u/.local/bin/tool
		f /home/u/.local/share/mine
		l /home/u/.vimrc dotfiles/vim/rc
		f /home/u/dotfiles/vim/rc
		f /home/u/dotfiles/README
		l /home/u/.zshrc /data/shared/zshrc
		f /data/shared/zshrc
		f /home/u/proj/.bashrc`)
	p, _ := mustResolve(t, h, fsRules("~:rw"))
	for _, name := range []string{".bashrc", ".config/git/config", ".config/systemd/user/x.service", ".config/Code/User/tasks.json", ".local/bin/tool", "dotfiles/vim/rc"} {
		name = "/home/u/" + name
		if !p.Allows(policy.OpRead, name) || p.Allows(policy.OpWrite, name) || p.Allows(policy.OpRemove, name) || p.Allows(policy.OpCreate, name) || p.AllowsReplace("/home/u/x", name) {
			t.Errorf("%s: %s", name, p.RightsAt(name))
		}
	}
	for _, s := range startupFiles("linux") {
		name := "/home/u" + strings.TrimPrefix(s, "~")
		if p.Allows(policy.OpCreate, name) || p.Allows(policy.OpWrite, name) || p.AllowsRename("/home/u/x", name) {
			t.Errorf("%s can be made", name)
		}
	}
	for _, name := range []string{".config", ".config/systemd", ".local", "dotfiles", "dotfiles/vim"} {
		if p.AllowsRename("/home/u/"+name, "/home/u/elsewhere") {
			t.Errorf("%s can be moved away", name)
		}
	}
	for _, name := range []string{"notes", ".local/share/mine", ".config/mine", "dotfiles/README", "proj/.bashrc", "proj/.vimrc"} {
		name = "/home/u/" + name
		if !p.Allows(policy.OpWrite, name) || !p.Allows(policy.OpCreate, name) {
			t.Errorf("%s is out of reach", name)
		}
	}
	if p.Allows(policy.OpRead, "/home/u/.config/git/credentials") {
		t.Error("what is hidden shows below a protected directory")
	}
	// A link leads into a grant that is not the home directory's.
	p, _ = mustResolve(t, h, fsRules("/data/shared:rw", "~/dotfiles:rw"))
	for _, name := range []string{"/data/shared/zshrc", "/home/u/dotfiles/vim/rc"} {
		if p.RightsAt(name) != policy.Read {
			t.Errorf("%s: %s", name, p.RightsAt(name))
		}
	}
	// A rule that names one grants it, and a workspace there is a rule.
	p, _ = mustResolve(t, h, fsRules("~:rw", "~/.config/systemd:rw", "~/.bashrc:rw"))
	if !p.Allows(policy.OpWrite, "/home/u/.config/systemd/user/x") || !p.Allows(policy.OpWrite, "/home/u/.bashrc") || p.Allows(policy.OpWrite, "/home/u/.config/git/config") {
		t.Error("a rule that names one does not grant it, or grants more")
	}
	for _, list := range [][]string{startupFiles("darwin"), clientFiles("darwin")} {
		for i, s := range list {
			if !strings.HasPrefix(s, "~/") || slices.Contains(list[i+1:], s) {
				t.Errorf("%s", s)
			}
		}
	}
}
