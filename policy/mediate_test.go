package policy

import (
	"slices"
	"strings"
	"testing"
)

func mediated() *Profile {
	return &Profile{
		Entries: []Entry{
			{Path: "/home/.private", Kind: KindDir, Rights: Read | Write, Origin: OriginHome},
			{Path: "/w", Kind: KindDir, Rights: Read | Write, Origin: OriginRule},
			{Path: "/w/granted/.vscode", Kind: KindDir, Rights: Read | Write, Origin: OriginRule},
			{Path: "/w/repo/.git/hooks", Kind: KindDir, Rights: Read, Origin: OriginProtected},
			{Path: "/w/ro", Kind: KindDir, Rights: Read, Origin: OriginRule},
		},
		Unprotected: []string{"/w/later", "/w/conf/app/key"},
	}
}

func TestMediate(t *testing.T) {
	p := mediated()
	for _, tt := range []struct {
		op   Op
		path string
		want Verdict
	}{
		{OpCreate, "/elsewhere/.envrc", Granted}, // left to the kernel
		{OpCreate, "/w/x", Granted},
		{OpCreate, "/w/ro/x", Forbidden},
		{OpWrite, "/w/ro/x", Forbidden},
		{OpRead, "/w/.envrc", Granted},
		{OpCreate, "/w/.envrc", Forbidden}, {OpWrite, "/w/.envrc", Forbidden}, {OpRemove, "/w/.envrc", Forbidden}, {OpTruncate, "/w/a/.envrc", Forbidden},
		{OpCreate, "/w/a/b/.MCP.json", Forbidden},
		{OpCreate, "/w/envrc", Granted}, {OpCreate, "/w/.envrc2", Granted}, {OpCreate, "/w/x.envrc", Granted},
		{OpMkdir, "/w/.vscode", Forbidden}, {OpCreate, "/w/.vscode/tasks.json", Forbidden},
		{OpCreate, "/w/granted/.vscode/tasks.json", Granted}, {OpCreate, "/w/granted/.vscode/.envrc", Forbidden},
		{OpRemove, "/w/granted/.vscode", Pinned}, {OpRemove, "/w/granted", Pinned},
		{OpMkdir, "/w/new/.git", Forbidden}, {OpCreate, "/w/new/.git", Forbidden},
		{OpCreate, "/w/repo/.git/index", Granted}, {OpMkdir, "/w/repo/.git/objects", Granted},
		{OpCreate, "/w/repo/.git/commondir", Forbidden}, {OpCreate, "/w/repo/.git/config.lock", Granted}, {OpCreate, "/w/repo/.git/config", Forbidden},
		{OpCreate, "/w/repo/.git/hooks/x", Forbidden}, {OpRemove, "/w/repo/.git/hooks", Pinned}, {OpRemove, "/w/repo", Pinned}, {OpRemove, "/w/other/.git", Forbidden},
		{OpMkdir, "/w/.github", Granted}, {OpCreate, "/w/.github", Forbidden}, {OpRemove, "/w/.github", Granted}, {OpMkdir, "/w/.github/workflows", Forbidden}, {OpMkdir, "/w/.github/issues", Granted},
		{OpMkdir, "/w/node_modules/p/.vscode", Granted}, {OpMkdir, "/w/node_modules", Granted}, {OpMkdir, "/w/node_modulesx/.vscode", Forbidden},
		{OpCreate, "/home/.private/.envrc", Granted}, {OpMkdir, "/home/.private/r/.git", Granted},
		{OpCreate, "/w/later", Forbidden}, {OpWrite, "/w/later/x", Forbidden}, {OpCreate, "/w/later2", Granted}, {OpMkdir, "/w/conf", Granted}, {OpCreate, "/w/conf/app/key", Forbidden},
		{OpCreate, "/w/LATER", Forbidden}, {OpWrite, "/W/Later./x", Granted}, {OpWrite, "/w/Later./x", Forbidden}, {OpCreate, "/w/CONF", Forbidden}, {OpRemove, "/w/Conf/App/key", Forbidden},
		{OpCreate, "/w/conf", Forbidden}, {OpCreate, "/w/conf/app", Forbidden}, {OpCreate, "/w/conf/other", Granted}, // a symlink to the directory with the rest
		{OpMkdir, "/w/r/.git/modules", Forbidden}, {OpMkdir, "/w/r/.git/modules/sub", Forbidden}, {OpCreate, "/w/r/.git/modules/sub/HEAD", Granted},
		{OpMkdir, "/w/r/.git/modules/a/sub/hooks", Forbidden}, {OpWrite, "/w/r/.git/modules/sub/config", Forbidden}, {OpCreate, "/w/r/.git/modules/sub/refs/heads/config", Granted},
		{OpCreate, "/w/r/.git/worktrees/x/commondir", Forbidden}, {OpMkdir, "/w/r/.git/worktrees/x", Granted}, {OpCreate, "/w/r/.git/refs/heads/modules", Granted},
		{OpMkdir, "/w/.v\u017fcode", Forbidden}, {OpMkdir, "/w/.g\u200dit", Forbidden}, {OpCreate, "/w/repo/.git/con\ufb01g", Forbidden}, {OpMkdir, "/w/.vs\u00e9code", Granted},
		{OpMkdir, "/w/.g\u034fit", Forbidden}, {OpCreate, "/w/.envrc\ufe0f", Forbidden}, {OpMkdir, "/w/.vs\U000e0101code", Forbidden}, // invisible characters
		{OpMkdir, "/w/.vscode.", Forbidden}, {OpCreate, "/w/.mcp.json . ", Forbidden}, {OpCreate, "/w/.envrc.\u200d", Forbidden}, {OpCreate, "/w/repo /.git./hooks../x", Forbidden}, {OpCreate, "/w/.. ./...", Granted}, {OpCreate, "/w/a.", Granted},
	} {
		if got := p.Mediate(tt.op, tt.path); got != tt.want {
			t.Errorf("%s %s: %d, want %d", tt.op, tt.path, got, tt.want)
		}
	}
}

// TestMediateAttributes checks that a server without the right to write a file can change
// neither its mode nor its times. It can change no attributes of paths that no entry
// covers.
func TestMediateAttributes(t *testing.T) {
	p := mediated()
	for path, want := range map[string]Verdict{
		"/w/x": Granted, "/w": Granted, "/w/repo/.git": Granted, "/w/repo/.git/index": Granted, "/home/.private/.envrc": Granted, "/w/granted/.vscode/x": Granted,
		"/w/ro": Forbidden, "/w/ro/x": Forbidden, "/w/repo/.git/hooks/x": Forbidden, "/elsewhere": Forbidden, "/": Forbidden,
		"/w/.envrc": Forbidden, "/w/a/.vscode/tasks.json": Forbidden, "/w/other/.git/hooks/x": Forbidden, "/w/later": Forbidden, "/w/later/x": Forbidden,
	} {
		if got := p.Mediate(OpAttributes, path); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
}

func TestMediateRename(t *testing.T) {
	p := mediated()
	for _, tt := range []struct {
		src, dst string
		holds    string // the names below the source, separated by spaces; "" if it is a file
		want     Verdict
	}{
		{"/w/a", "/w/b", "", Granted},
		{"/w/a", "/w/.envrc", "", Forbidden},
		{"/w/.envrc", "/w/a", "", Forbidden},
		{"/w/a", "/w/.github", "", Forbidden},
		{"/w/a", "/w/.github", "dir other", Granted},
		{"/w/a", "/w/.github", "dir workflows", Forbidden},
		{"/w/a", "/w/n/.git", "dir other", Forbidden},
		{"/w/a", "/w/conf", "dir app", Forbidden},
		{"/w/conf", "/w/b", "dir app", Forbidden},
		{"/w/repo", "/w/b", "dir", Pinned},
		{"/w/a", "/w/granted", "dir", Pinned},
		{"/w/node_modules/p", "/w/p", "dir", Granted},
		{"/w/node_modules/p", "/w/p", "dir **", Forbidden},
		{"/w/node_modules/p", "/w/x/node_modules/p", "dir **", Granted},
		{"/w/node_modules", "/w/x", "dir **", Forbidden},
		{"/w/ro/a", "/w/b", "", Forbidden},
		{"/home/.private/a", "/w/a", "dir **", Forbidden}, {"/home/.private/a", "/w/a", "dir", Granted},
		{"/home/.private/a", "/w/node_modules/a", "dir **", Forbidden}, {"/w/a", "/home/.private/a", "dir **", Granted},
		{"/w/a", "/w/node_modules/a", "dir **", Forbidden}, {"/w/a", "/w/node_modules/a", "dir", Granted},
		{"/w/a", "/w/r/.git/modules", "dir", Forbidden}, {"/w/a", "/w/r/.GIT/modules/x/y", "dir", Forbidden}, {"/w/a", "/w/r/.git/worktrees/x", "dir", Forbidden},
		{"/w/r/.git/modules/x/index.lock", "/w/r/.git/modules/x/index", "", Granted},
	} {
		has := strings.Fields(tt.holds)
		holds := func(name string) bool {
			if name == "" {
				name = "dir"
			}
			return slices.Contains(has, name)
		}
		if got := p.MediateRename(tt.src, tt.dst, holds, true); got != tt.want {
			t.Errorf("%s to %s (%s): %d, want %d", tt.src, tt.dst, tt.holds, got, tt.want)
		}
	}
}

// TestMediateIsNoWider checks that, on paths that an entry covers, Mediate never grants an
// operation that Allows refuses. Other tests compare the mounts and Landlock with Allows.
func TestMediateIsNoWider(t *testing.T) {
	p := mediated()
	for _, path := range []string{"/w/x", "/w/ro/x", "/w/.envrc", "/w/repo/.git/hooks/x", "/w/later/y", "/home/.private/x"} {
		for op := OpRead; op <= OpRemove; op++ {
			if p.Mediate(op, path) == Granted && !p.Allows(op, path) {
				t.Errorf("%s %s", op, path)
			}
		}
	}
}

// TestPackaged checks that files in a node_modules belong to a package, wherever the grant
// begins. Git directories do not, and neither does a workspace that itself lies in a
// node_modules.
func TestPackaged(t *testing.T) {
	rw := Read | Write
	p := &Profile{Entries: []Entry{
		{Path: "/deep/node_modules/w", Kind: KindDir, Rights: rw, Origin: OriginRule},
		{Path: "/n/node_modules", Kind: KindDir, Rights: rw, Origin: OriginRule},
		{Path: "/none/node_modules", Kind: KindDir, Origin: OriginRule},
		{Path: "/none/node_modules/w", Kind: KindDir, Rights: rw, Origin: OriginRule},
		{Path: "/read/node_modules", Kind: KindDir, Rights: Read, Origin: OriginRule},
		{Path: "/read/node_modules/w", Kind: KindDir, Rights: rw, Origin: OriginRule},
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
		"/w/.git/modules/node_modules": true, "/w/.git/modules/node_modules/hooks/x": true, "/w/.GIT/modules/a/node_modules/config": true,
		"/w/.git/worktrees/node_modules/commondir": true, "/w/.git/refs/heads/node_modules/x": false,
		"/none/node_modules/w/sub/.vscode": true, "/read/node_modules/w/sub/.vscode": true,
	} {
		if got := p.Protects(OpMkdir, name); got != guarded {
			t.Errorf("%s is guarded: %v", name, got)
		}
	}
}

// TestMediateLink: a second name gives a file no more rights. Where there are mounts, these hold all but writing.
func TestMediateLink(t *testing.T) {
	p := mediated()
	p.Entries = append(p.Entries, Entry{Path: "/w/secret", Kind: KindFile, Origin: OriginSensitive}, Entry{Path: "/w/shown", Kind: KindDir, Rights: Write, Origin: OriginRule})
	for _, c := range []struct {
		op              Op
		src, dst        string
		mounts, without Verdict
	}{
		{OpCreate, "/w/a", "/w/b", Granted, Granted},
		{OpCreate, "/w/.envrc", "/w/b", Crossing, Crossing},
		{OpCreate, "/w/ro/x", "/w/b", Crossing, Crossing},
		{OpCreate, "/w/shown/x", "/w/b", Granted, Crossing},
		{OpCreate, "/w/a", "/w/.envrc", Forbidden, Forbidden},
		{OpSymlink, "/w/a", "/w/r/.git/modules/x", Forbidden, Forbidden},
	} {
		if with, without := p.MediateLink(c.op, c.src, c.dst, true), p.MediateLink(c.op, c.src, c.dst, false); with != c.mounts || without != c.without {
			t.Errorf("%s to %s: %d and %d, want %d and %d", c.src, c.dst, with, without, c.mounts, c.without)
		}
	}
}
