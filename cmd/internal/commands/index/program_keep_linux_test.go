package index

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestForeignProgram tests that clients are never given a copy of mcp-jail that another user could
// replace, nor one that is written through a link.
func TestForeignProgram(t *testing.T) {
	for name, spoil := range map[string]func(data, elsewhere string) error{
		"control":      func(string, string) error { return nil },
		"others write": func(data, _ string) error { return os.Chmod(data, 0o777) },
		"bin is a link": func(data, elsewhere string) error {
			return errors.Join(os.Mkdir(data+"/mcp-jail", 0o700), os.Symlink(elsewhere, data+"/mcp-jail/bin"))
		},
		"the copy is a link": func(data, elsewhere string) error {
			return errors.Join(os.MkdirAll(data+"/mcp-jail/bin", 0o700), os.Symlink(elsewhere+"/victim", data+"/mcp-jail/bin/"+cmdline.Main))
		},
		"another user has it": func(data, _ string) error {
			if os.Geteuid() != 0 {
				return os.Chmod(data, 0o777)
			}
			return os.Chown(data, 12345, 12345)
		},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			cached, data, elsewhere := top+"/_npx", top+"/data", top+"/elsewhere"
			err := errors.Join(os.Mkdir(cached, 0o700), os.Mkdir(data, 0o700), os.Mkdir(elsewhere, 0o700))
			for _, program := range []string{cmdline.Main, cmdline.Companion} {
				err = errors.Join(err, os.WriteFile(filepath.Join(cached, program), []byte(program), 0o755))
			}
			if err = errors.Join(err, os.WriteFile(elsewhere+"/victim", []byte("mine"), 0o600), spoil(data, elsewhere)); err != nil {
				t.Fatal(err)
			}
			kept := CopyPath(hostfs.Host{DataDir: filepath.Join(data, "mcp-jail")})
			err = Program{wrapping.Program{Path: kept}, cached}.Keep()
			if name == "control" {
				info, looked := os.Lstat(kept)
				if b, read := os.ReadFile(kept); err != nil || looked != nil || read != nil || string(b) != cmdline.Main || info.Mode() != 0o755 {
					t.Errorf("%v, %v, %q, %v", err, info, b, read)
				}
				return
			}
			var owner *hostfs.OwnerError
			if !errors.As(err, &owner) {
				t.Errorf("%v", err)
			}
			if b, err := os.ReadFile(elsewhere + "/victim"); err != nil || string(b) != "mine" {
				t.Errorf("%q, %v", b, err)
			}
			if there, _ := os.ReadDir(elsewhere); len(there) != 1 {
				t.Errorf("%v", there)
			}
		})
	}
}
