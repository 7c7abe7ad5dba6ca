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

	"github.com/mcp-jail/mcp-jail/policy"
)

// layersIn gives a test its own system, user and project layers.
func layersIn(t *testing.T) (o LoadOptions, project string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "ws"), 0o755); err != nil {
		t.Fatal(err)
	}
	return LoadOptions{
		Workspace: filepath.Join(dir, "ws"), System: filepath.Join(dir, "system.toml"),
		User: filepath.Join(dir, "user.toml"), Trust: filepath.Join(dir, "state", "trust.toml"),
	}, filepath.Join(dir, "ws", ProjectFile)
}

func put(t *testing.T, name, text string) []byte {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return []byte(text)
}

func TestLayersOnDisk(t *testing.T) {
	o, project := layersIn(t)
	if c, _, err := Load(o); err != nil || len(c.Servers) != 0 || len(c.Files) != 0 {
		t.Fatalf("no file at all: %+v, %v", c, err)
	}
	put(t, o.System, "[servers.s]\ncommand = \"system\"\nworkspace = \"w\"\n")
	put(t, o.User, "[servers.s]\ncommand = \"user\"\nhome = \"real\"\n")
	c, _, err := Load(o)
	if err != nil || c.Servers["s"].Command != "user" || c.Servers["s"].Workspace != "w" || len(c.Files) != 2 {
		t.Fatalf("system and user: %+v, %v", c, err)
	}

	// Without consent it is an error: neither left out nor used.
	data := put(t, project, "[servers.s]\ncommand = \"project\"\n")
	var untrusted *UntrustedError
	if _, _, err = Load(o); !errors.As(err, &untrusted) || untrusted.Changed || untrusted.File != project {
		t.Fatalf("an untrusted project file: %v", err)
	}
	for _, want := range []string{"has not been trusted", "cat " + project, "mcp-jail trust " + project} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the message lacks %q:\n%v", want, err)
		}
	}
	store := TrustStore{o.Trust}
	if err := store.Trust(project, data); err != nil {
		t.Fatal(err)
	}
	if c, _, err = Load(o); err != nil || c.Servers["s"].Command != "project" {
		t.Fatalf("a trusted project file: %+v, %v", c, err)
	}
	put(t, project, "[servers.s]\ncommand = \"evil\"\n")
	if _, _, err = Load(o); !errors.As(err, &untrusted) || !untrusted.Changed || !strings.Contains(err.Error(), "changed since") {
		t.Fatalf("a changed project file: %v", err)
	}
	// With --config the project file is not read, and not asked for trust.
	o.Files = []string{o.User}
	if c, _, err = Load(o); err != nil || c.Servers["s"].Command != "user" || c.Servers["s"].Workspace != "" {
		t.Fatalf("--config: %+v, %v", c, err)
	}
	o.Files = nil
	if err := store.Untrust(project); err != nil {
		t.Fatal(err)
	}
	if err := store.Untrust(project); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("untrusting twice: %v", err)
	}
	if err := store.Check(project, data); !errors.As(err, &untrusted) || untrusted.Changed {
		t.Errorf("after untrust: %v", err)
	}
	// All problems of all files, in the order of the layers.
	os.Remove(project)
	put(t, o.System, "x = 1\n")
	put(t, o.User, "y = 1\nz = 2\n")
	_, _, err = Load(o)
	var ps policy.Problems
	if !errors.As(err, &ps) || len(ps) != 3 || ps[0].File != o.System || ps[2].Line != 2 {
		t.Errorf("problems of two files: %v", err)
	}
}

// canGive tells whether these tests can make files of another user, as root can where
// there is one: a user namespace may map its root alone (user_namespaces(7), EINVAL).
func canGive(t *testing.T) bool {
	t.Helper()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		return false
	}
	probe := filepath.Join(t.TempDir(), "given")
	put(t, probe, "")
	err := os.Chown(probe, 12345, 12345)
	if err != nil && !errors.Is(err, syscall.EINVAL) {
		t.Fatal(err)
	}
	return err == nil
}

func TestTrustStore(t *testing.T) {
	dir := t.TempDir()
	store := TrustStore{filepath.Join(dir, "deep", "trust.toml")}
	odd := filepath.Join(dir, "a \"b\" ü\n#[x].toml")
	put(t, odd, "x")
	if err := store.Trust(odd, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := store.Trust(filepath.Join(dir, "other"), []byte("y")); err != nil {
		t.Fatal(err)
	}
	if err := store.Check(odd, []byte("x")); err != nil {
		t.Errorf("an odd name: %v", err)
	}
	if err := store.Check(odd, []byte("X")); err == nil {
		t.Error("other content was accepted")
	}
	if err := store.Check(filepath.Join(dir, "other"), []byte("x")); err == nil {
		t.Error("content was accepted under another name")
	}
	// The same file by another way is the same file.
	if err := os.Symlink(dir, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := store.Check(filepath.Join(dir, "link", "other"), []byte("y")); err != nil {
		t.Errorf("through a link: %v", err)
	}
	info, err := os.Stat(store.Path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the store: %v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "deep", ".trust*")); len(left) != 0 {
		t.Errorf("litter: %v", left)
	}
	if runtime.GOOS == "windows" {
		return
	}
	for name, mode := range map[string]fs.FileMode{store.Path: 0o602, filepath.Dir(store.Path): 0o702} {
		before, _ := os.Stat(name)
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		for what, err := range map[string]error{"Check": store.Check(odd, []byte("x")), "Trust": store.Trust(odd, []byte("x")), "Untrust": store.Untrust(odd)} {
			if err == nil || !strings.Contains(err.Error(), "may be written by other users") {
				t.Errorf("%s with %s %v: %v", what, name, mode, err)
			}
		}
		os.Chmod(name, before.Mode().Perm())
	}
	if canGive(t) {
		for _, name := range []string{store.Path, filepath.Dir(store.Path)} {
			if err := os.Chown(name, 12345, 12345); err != nil {
				t.Fatal(err)
			}
			if err := store.Check(odd, []byte("x")); err == nil || !strings.Contains(err.Error(), "belongs to user 12345") {
				t.Errorf("%s of another user: %v", name, err)
			}
			os.Chown(name, 0, 0)
		}
		if err := store.Check(odd, []byte("x")); err != nil {
			t.Errorf("given back: %v", err)
		}
	}
	put(t, store.Path, "[trusted]\nx = 1\nbroken")
	if err := store.Check(odd, []byte("x")); err == nil || !strings.Contains(err.Error(), "trust.toml:3") {
		t.Errorf("a broken store: %v", err)
	}
}

func TestReadConfigFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "c.toml")
	put(t, file, strings.Repeat("#", maxFileSize))
	if data, err := ReadConfigFile(file); err != nil || len(data) != maxFileSize {
		t.Errorf("1 MiB: %d, %v", len(data), err)
	}
	put(t, file, strings.Repeat("#", maxFileSize+1))
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
	put(t, own, "")
	link := filepath.Join(dir, "link.toml")
	if err := os.Symlink("own.toml", link); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadConfigFile(link); err != nil {
		t.Errorf("a link to an own file: %v", err)
	}
	if _, err := ReadConfigFile(filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
	if !canGive(t) {
		return
	}
	if err := os.Chown(own, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	refused(link, "symbolic link to "+own+", which belongs to another user")
	if _, err := ReadConfigFile(own); err != nil {
		t.Errorf("another user's file by its own name: %v", err)
	}
	os.Chown(own, 0, 0)
	sub := filepath.Join(dir, "sub")
	os.Mkdir(sub, 0o755)
	put(t, filepath.Join(sub, "x.toml"), "")
	os.Chown(sub, 12345, 12345)
	os.Symlink("sub/x.toml", filepath.Join(dir, "into.toml"))
	refused(filepath.Join(dir, "into.toml"), "symbolic link into "+sub+", which belongs to another user")
}
