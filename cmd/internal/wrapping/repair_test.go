package wrapping

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRepairOfWide: wrap does not make a project's entry start that grants itself the whole home
// directory, or all variables. The user's own entry may have such flags, and so may one of a project that
// starts this program already.
func TestRepairOfWide(t *testing.T) {
	h := newHost(t)
	ours := filepath.Join(h.Home, "bin", "mcp-jail")
	write(t, ours, "")
	must(t, os.Chmod(ours, 0o700))
	must(t, os.Symlink(h.Home, filepath.Join(h.Project, "link")))
	must(t, os.Symlink("/", filepath.Join(h.Project, "root")))
	for flags, isWide := range map[string]bool{
		`"--write", "/"`: true, `"--write=/"`: true, `"--read", "~"`: true, `"--read", "~/"`: true, `"--write", "~/."`: true, `"--execute", "HOME"`: true, `"--read", "HOME/.."`: true,
		`"--read", "~/docs", "--read", "~/docs/.."`: true, `"--read", "${userHome}"`: true, `"--write", "../home"`: true, `"--read", "link"`: true, `"--read", "./root/"`: true,
		`"--workspace", "~/docs", "--write", ".."`: true, `"--env", "*"`: true, `"--env", "**"`: true,
		`"--write", "."`: false, `"--read", "~/docs"`: false, `"--deny", "~"`: false, `"--read", "/etc"`: false, `"--net", "*"`: false, `"--env", "TOKEN"`: false, `"--env", "LC_*"`: false, `"--home", "real"`: false,
		`"--write", "${workspaceFolder}"`: false,
	} {
		for i, path := range []string{filepath.Join(h.Project, ".vscode/mcp.json"), filepath.Join(h.Home, ".config/Code/User/mcp.json")} {
			for _, program := range []string{"/gone/mcp-jail", ours} {
				write(t, path, `{"servers": {"a": {"command": "`+program+`", "args": ["run", `+strings.ReplaceAll(flags, "HOME", h.Home)+`, "--", "x"]}}}`)
				f := only(t, h, Selection{Clients: []string{"vscode"}, Files: []string{path}})
				v := f.Judge(f.Entries[0], Program{Path: ours}, h)
				p := f.Wrap(Program{Path: ours}, Selection{}, h, NewNames(nil, nil)).Servers[0]
				isRepaired := program != ours && !(isWide && i == 0)
				if (v.Repair != nil) != isRepaired || (p.Left == "") != isRepaired || v.Jailed != (program == ours) || isWide && i == 0 && program != ours && !strings.Contains(p.Left, "grants itself") {
					t.Errorf("%s of %s in a file of %s: judged %+v, left %q", flags, program, f.Place.Scope, v, p.Left)
				}
			}
		}
	}
}
