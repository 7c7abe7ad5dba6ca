package policy

import (
	"testing"
)

// TestPackaged: what lies in a node_modules is a package's own, wherever the grant
// begins, but for git directories and for a workspace that lies in one itself.
func TestPackaged(t *testing.T) {
	rw := Read | Write
	p := &Profile{Entries: []Entry{
		{Path: "/deep/node_modules/w", Kind: KindDir, Rights: rw, Origin: OriginRule},
		{Path: "/n/node_modules", Kind: KindDir, Rights: rw, Origin: OriginRule},
		{Path: "/w", Kind: KindDir, Rights: rw, Origin: OriginRule},
		{Path: "/w/node_modules", Kind: KindDir, Rights: rw | Execute, Origin: OriginRule},
		{Path: "/w/node_modules/p/q", Kind: KindDir, Rights: rw, Origin: OriginRule},
	}}
	for name, guarded := range map[string]bool{
		"/w/.vscode": true, "/w/sub/.vscode": true, "/w/node_modulesx/.vscode": true, "/w/Node_Modules/.vscode": true,
		"/w/node_modules/.vscode": false, "/w/node_modules/p/.vscode": false, "/w/node_modules/p/q/r/.vscode": false, "/w/sub/node_modules/p/.envrc": false,
		"/n/node_modules/p/.idea": false, "/n/node_modules/p/.github/workflows": false,
		"/w/node_modules/p/.git": true, "/w/node_modules/p/.GIT/hooks": true, "/n/node_modules/p/.git/config": true,
		"/deep/node_modules/w/.vscode": true, "/deep/node_modules/w/node_modules/p/.vscode": false,
	} {
		if got := p.Protects(OpMkdir, name); got != guarded {
			t.Errorf("%s is guarded: %v", name, got)
		}
	}
}
