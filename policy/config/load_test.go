package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config/internal/reader"
)

// TestConfigurationOwners checks that each layer must belong to the user or root. The
// project layer need not, since the user has trusted its content.
func TestConfigurationOwners(t *testing.T) {
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
				testkit.WriteFile(t, dir+"/c.toml", text)
				testkit.WriteFile(t, dir+"/store/c.toml", text)
				must(t, c.change(dir))
				set(&o, dir+"/c.toml")
				_, err := Load(o)
				var ps policy.Problems
				if (err == nil) != (c.want == "") || err != nil && (!errors.As(err, &ps) || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("%s: %v, want %q", layer, err, c.want)
				}
			}
			// The user has accepted the content of a project's file, so its owner does not count.
			data := testkit.WriteFile(t, project, text)
			must(t, TrustStore{Path: o.Trust}.Trust(project, data))
			must(t, os.Chown(project, stranger, 0))
			if _, err := Load(o); err != nil {
				t.Errorf("project: %v", err)
			}
		})
	}
}

func relink(dir, target string) error {
	return errors.Join(os.Remove(dir+"/c.toml"), os.Symlink(target, dir+"/c.toml"))
}

var must = testkit.Must

// layersIn gives a test its own system, user and project layers.
func layersIn(t *testing.T) (o LoadOptions, project string) {
	t.Helper()
	dir := t.TempDir()
	testkit.Must(t, os.Mkdir(filepath.Join(dir, "ws"), 0o755))
	return LoadOptions{
		Workspace: filepath.Join(dir, "ws"), System: filepath.Join(dir, "system.toml"),
		User: filepath.Join(dir, "user.toml"), Trust: filepath.Join(dir, "state", "trust.toml"),
	}, filepath.Join(dir, "ws", ProjectFile)
}

func TestLayersOnDisk(t *testing.T) {
	o, project := layersIn(t)
	if c, err := Load(o); err != nil || len(c.Servers) != 0 || len(c.Files) != 0 {
		t.Fatalf("no file at all: %+v, %v", c, err)
	}
	testkit.WriteFile(t, o.System, "[servers.s]\ncommand = \"system\"\nworkspace = \"w\"\n")
	testkit.WriteFile(t, o.User, "[servers.s]\ncommand = \"user\"\nhome = \"real\"\n")
	c, err := Load(o)
	if err != nil || c.Servers["s"].Command != "user" || c.Servers["s"].Workspace != "w" || len(c.Files) != 2 {
		t.Fatalf("system and user: %+v, %v", c, err)
	}

	// An untrusted file is an error. It is neither left out nor used.
	data := testkit.WriteFile(t, project, "[servers.s]\ncommand = \"project\"\n")
	var untrusted *UntrustedError
	if _, err = Load(o); !errors.As(err, &untrusted) || untrusted.Changed || untrusted.File != project {
		t.Fatalf("an untrusted project file: %v", err)
	}
	for _, want := range []string{"you have not accepted it yet", "mcp-jail trust " + project} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the message lacks %q:\n%v", want, err)
		}
	}
	store := TrustStore{Path: o.Trust}
	testkit.Must(t, store.Trust(project, data))
	if c, err = Load(o); err != nil || c.Servers["s"].Command != "project" {
		t.Fatalf("a trusted project file: %+v, %v", c, err)
	}
	testkit.WriteFile(t, project, "[servers.s]\ncommand = \"evil\"\n")
	if _, err = Load(o); !errors.As(err, &untrusted) || !untrusted.Changed || !strings.Contains(err.Error(), "changed since") {
		t.Fatalf("a changed project file: %v", err)
	}
	// With --config the project file is not read and need not be trusted.
	o.Files = []string{o.User}
	if c, err = Load(o); err != nil || c.Servers["s"].Command != "user" || c.Servers["s"].Workspace != "" {
		t.Fatalf("--config: %+v, %v", c, err)
	}
	o.Files = nil
	// The error has all problems of all files, in the order of the layers, also beside a file that is not trusted.
	testkit.WriteFile(t, o.System, "x = 1\n")
	testkit.WriteFile(t, o.User, "y = 1\nz = 2\n")
	_, err = Load(o)
	var ps policy.Problems
	if !errors.As(err, &untrusted) || !errors.As(err, &ps) || len(ps) != 3 || ps[0].File != o.System || ps[2].Line != 2 {
		t.Errorf("problems of two files: %v", err)
	}
}

// TestSystemFile: Windows has no configuration of the administrator, since any user could make it there.
func TestSystemFile(t *testing.T) {
	for system, want := range map[string]string{"linux": "/etc/mcp-jail/config.toml", "darwin": "/etc/mcp-jail/config.toml", "freebsd": "/etc/mcp-jail/config.toml", "windows": ""} {
		if got := systemFile(system); got != want {
			t.Errorf("%s: %q, want %q", system, got, want)
		}
	}
}

// canGive reports whether these tests can make files of another user. Root can, except in
// a user namespace that maps no other user (user_namespaces(7), EINVAL).
func canGive(t *testing.T) bool {
	t.Helper()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		return false
	}
	probe := filepath.Join(t.TempDir(), "given")
	testkit.WriteFile(t, probe, "")
	err := os.Chown(probe, 12345, 12345)
	if err != nil && !errors.Is(err, syscall.EINVAL) {
		t.Fatal(err)
	}
	return err == nil
}

func TestReadConfigFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "c.toml")
	testkit.WriteFile(t, file, strings.Repeat("#", reader.MaxFileSize))
	if data, err := ReadConfigFile(file); err != nil || len(data) != reader.MaxFileSize {
		t.Errorf("1 MiB: %d, %v", len(data), err)
	}
	testkit.WriteFile(t, file, strings.Repeat("#", reader.MaxFileSize+1))
	refused := func(name, want string) {
		t.Helper()
		_, err := ReadConfigFile(name)
		var ps policy.Problems
		if !errors.As(err, &ps) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	refused(file, "is refused: 1048577 bytes")
	refused(dir, "is not a regular file")
	own := filepath.Join(dir, "own.toml")
	testkit.WriteFile(t, own, "")
	link := filepath.Join(dir, "link.toml")
	testkit.Must(t, os.Symlink("own.toml", link))
	if _, err := ReadConfigFile(link); err != nil {
		t.Errorf("a link to an own file: %v", err)
	}
	if _, err := ReadConfigFile(filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
	if !canGive(t) {
		return
	}
	testkit.Must(t, os.Chown(own, 12345, 12345))
	for _, name := range []string{own, link} {
		if _, err := ReadConfigFile(name); err != nil {
			t.Errorf("another user's file, %s: %v", filepath.Base(name), err)
		}
	}
}
