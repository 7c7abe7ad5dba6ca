package config

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestForeignConfiguration: each layer but the project's, which counts by its content,
// must be the user's own word or root's.
func TestForeignConfiguration(t *testing.T) {
	if !canGive(t) {
		t.Skip("only root can give files away")
	}
	const stranger = 12345
	for name, c := range map[string]struct {
		change func(dir string) error
		want   string
	}{
		"own":            {func(string) error { return nil }, ""},
		"another user's": {func(dir string) error { return os.Chown(dir+"/c.toml", stranger, 0) }, "it belongs to user 12345"},
		"written by all": {func(dir string) error { return os.Chmod(dir+"/c.toml", 0o666) }, "may be written by other users"},
		"written by a group": {func(dir string) error {
			return errors.Join(os.Chown(dir+"/c.toml", 0, 100), os.Chmod(dir+"/c.toml", 0o664))
		}, "may be written by other users"},
		"another's directory": {func(dir string) error { return os.Chown(dir, stranger, 0) }, "belongs to user 12345"},
		"a directory of all":  {func(dir string) error { return os.Chmod(dir, 0o777) }, "may be written by other users"},
		"in a sticky one":     {func(dir string) error { return os.Chmod(dir, 0o777|fs.ModeSticky) }, ""},
		"a link of root's":    {func(dir string) error { return relink(dir, dir+"/store/c.toml") }, ""},
		"a link to another's": {func(dir string) error {
			return errors.Join(relink(dir, dir+"/store/c.toml"), os.Chown(dir+"/store/c.toml", stranger, 0))
		}, "store/c.toml belongs to user 12345"},
		"a link into a's dir": {func(dir string) error {
			return errors.Join(relink(dir, "store/c.toml"), os.Chown(dir+"/store", stranger, 0))
		}, "store belongs to user 12345"},
		"another user's link": {func(dir string) error {
			return errors.Join(relink(dir, "store/c.toml"), os.Lchown(dir+"/c.toml", stranger, 0))
		}, "it belongs to user 12345"},
		"a link through a dir": {func(dir string) error {
			return errors.Join(relink(dir, "store/../store/c.toml"), os.Chmod(dir+"/store", 0o777))
		}, "may be written by other users"},
	} {
		t.Run(name, func(t *testing.T) {
			o, project := layersIn(t)
			text := "[servers.s]\ncommand = \"x\"\n"
			for layer, set := range map[string]func(*LoadOptions, string){
				"system": func(o *LoadOptions, f string) { o.System = f }, "user": func(o *LoadOptions, f string) { o.User = f }, "named": func(o *LoadOptions, f string) { o.Files = []string{f} },
			} {
				dir, o := t.TempDir(), o
				must(t, os.Mkdir(dir+"/store", 0o755))
				put(t, dir+"/c.toml", text)
				put(t, dir+"/store/c.toml", text)
				must(t, c.change(dir))
				set(&o, dir+"/c.toml")
				_, _, err := Load(o)
				var ps policy.Problems
				if (err == nil) != (c.want == "") || err != nil && (!errors.As(err, &ps) || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("%s: %v, want %q", layer, err, c.want)
				}
			}
			// The content of a project's file is what was accepted.
			data := put(t, project, text)
			must(t, TrustStore{o.Trust}.Trust(project, data))
			must(t, os.Chown(project, stranger, 0))
			if _, _, err := Load(o); err != nil {
				t.Errorf("project: %v", err)
			}
		})
	}
}

func relink(dir, target string) error {
	return errors.Join(os.Remove(dir+"/c.toml"), os.Symlink(target, dir+"/c.toml"))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
