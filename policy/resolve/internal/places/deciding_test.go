package places

import (
	"slices"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestDecidingFiles: each file is in the table once, and none lies in another.
func TestDecidingFiles(t *testing.T) {
	var all []string
	for _, g := range DecidingFiles("linux") {
		all = append(all, g.Paths...)
	}
	if len(all) > roomForDeciding*3/4 { // PATH and version managers come after them
		t.Errorf("%d paths: roomForDeciding is too small", len(all))
	}
	for i, p := range all {
		if j := slices.IndexFunc(all, func(o string) bool { return policy.Within(p, o) }); j != i {
			t.Errorf("%s lies in %s", p, all[j])
		}
	}
}

// TestDecides: what programs of the host run or obey by themselves decides, and what lies beside it does not.
func TestDecides(t *testing.T) {
	var all []string
	for _, g := range DecidingFiles("linux") {
		all = append(all, g.Paths...)
	}
	decides := func(p string) bool {
		return slices.ContainsFunc(all, func(o string) bool { return policy.Within(p, o) })
	}
	for _, p := range []string{
		"~/.config/containers/systemd/x.container", "~/.config/containers/containers.conf", "~/.virtualenvs/postactivate", "~/.poetry/bin/poetry", "~/.local/share/pypoetry/venv/bin/poetry",
		"~/.ansible/plugins/callback/x.py", "~/.node-version", "~/.python-version", "~/.nvmrc", "~/.mise.toml", "~/.local/state/mise/trusted-configs/x", "~/.local/share/direnv/allow/x",
		"~/.config/systemd/user/x.service", "~/.config/autostart/x.desktop", "~/.acme.sh/acme.sh", "~/.gdbinit", "~/.gdbearlyinit", "~/.tmux.conf", "~/.screenrc", "~/.inputrc", "~/.cargo/config.toml", "~/.config/pip/pip.conf",
		"~/.config/bat/config", "~/.config/pipewire/pipewire.conf", "~/.vscode-insiders/extensions/x", "~/.cmake/packages/X/y", "~/.rpmmacros", "~/.dotnet/dotnet", "~/.dotnet/tools/x",
	} {
		if !decides(p) {
			t.Errorf("%s can be written", p)
		}
	}
	for _, p := range []string{
		"~/notes", "~/.config/weather", "~/.config/containersx", "~/.node-versions-notes", "~/.julia/logs", "~/.local/share/notes", "~/.local/state/x", "~/.cache/x", "~/proj/.node-version", "~/.config/Kiro/logs",
	} {
		if decides(p) {
			t.Errorf("%s cannot be written", p)
		}
	}
}
