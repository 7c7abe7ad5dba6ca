package install

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestNodeHeaders tests that scripts are told where the headers of their node are, if it has any.
func TestNodeHeaders(t *testing.T) {
	dir := testkit.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	write := func(name string) {
		file := filepath.Join(dir, name)
		testkit.Must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		testkit.Must(t, os.WriteFile(file, nil, 0o755))
	}
	write("v24/bin/node")
	write("v24/include/node/node.h")
	write("bare/bin/node")
	testkit.Must(t, os.Mkdir(filepath.Join(dir, "links"), 0o755))
	if err := os.Symlink("../v24/bin/node", filepath.Join(dir, "links", "node")); err != nil {
		t.Skip(err)
	}
	for _, tt := range []struct {
		path []string
		want string
	}{
		{[]string{"empty", "v24/bin"}, "v24"},
		{[]string{"links"}, "v24"},
		{[]string{"bare/bin", "v24/bin"}, ""}, // those of another node do not fit
		{[]string{"empty"}, ""},
	} {
		var path []string
		for _, p := range tt.path {
			path = append(path, filepath.Join(dir, p))
		}
		want := tt.want
		if want != "" {
			want = filepath.Join(dir, want)
		}
		testkit.Equal(t, tt.path, nodeHeaders(path), want)
	}
}
