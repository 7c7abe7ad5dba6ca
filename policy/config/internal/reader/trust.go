package reader

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TrustStore remembers which project files the user accepted, by path and SHA-256
// (docs/reference.md "Trust"): the user has not agreed to a file just because it came with
// a clone.
//
// It is one file. A store that another user may write is refused. If two commands write it
// at the same time, one of the changes is lost; the worst outcome is a file that must be
// trusted again.
type TrustStore struct {
	Path string // "" is $XDG_STATE_HOME/mcp-jail/trust.toml
}

const FileName = "trust.toml"

// UntrustedError reports a project file that was not accepted, or has changed since.
type UntrustedError struct {
	File    string
	Changed bool // other content was accepted before
}

func (e *UntrustedError) Error() string {
	what := "you have not accepted it yet"
	if e.Changed {
		what = "it changed since you accepted it"
	}
	return fmt.Sprintf("%s is not used: %s.\nTo read what it allows, and then decide:\n  %s", show.Line(e.File), what, e.Command())
}

// Command returns the command that shows the file and asks.
func (e *UntrustedError) Command() string { return show.Typed("mcp-jail trust", e.File) }

// TrustStoreError reports a trust store that another user may have written.
type TrustStoreError struct{ Store, Reason string }

func (e *TrustStoreError) Error() string {
	return fmt.Sprintf("the trust store %s is refused: %s", e.Store, e.Reason)
}

// Check returns an error unless the content of a project file is the accepted one.
func (s TrustStore) Check(file string, data []byte) error {
	name, err := trustName(file)
	if err != nil {
		return err
	}
	accepted, err := s.read()
	if err != nil {
		return err
	}
	// The same bytes are decoded later, so the file cannot change in between.
	if before, ok := accepted[name]; !ok || before != digest(data) {
		return &UntrustedError{File: file, Changed: ok}
	}
	return nil
}

// Trust accepts exactly this content of a file. Callers pass the bytes that they showed to
// the user.
func (s TrustStore) Trust(file string, data []byte) error {
	return s.change(file, func(accepted map[string]string, name string) error {
		accepted[name] = digest(data)
		return nil
	})
}

// Untrust removes a file. The error for a file that was not trusted matches fs.ErrNotExist.
func (s TrustStore) Untrust(file string) error {
	return s.change(file, func(accepted map[string]string, name string) error {
		if _, ok := accepted[name]; !ok {
			return fmt.Errorf("%s was not trusted: %w", file, fs.ErrNotExist)
		}
		delete(accepted, name)
		return nil
	})
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func trustName(file string) (string, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		abs = filepath.Join(dir, filepath.Base(abs))
	}
	return abs, nil
}

func (s TrustStore) path() (string, error) {
	if s.Path != "" {
		return s.Path, nil
	}
	_, state, err := UserDirs()
	return filepath.Join(state, FileName), err
}

func refusal(store string, err error) error {
	var owner *hostfs.OwnerError
	if errors.As(err, &owner) {
		return &TrustStoreError{store, owner.Detail() + ", and trust your files again"}
	}
	return err
}

func (s TrustStore) read() (map[string]string, error) {
	store, err := s.path()
	if err != nil {
		return nil, err
	}
	accepted := map[string]string{}
	data, err := private.ReadFile(filepath.Dir(store), filepath.Base(store), MaxFileSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return accepted, nil
	case errors.Is(err, private.ErrIrregular):
		return nil, &TrustStoreError{store, private.ErrIrregular.Error()}
	case err != nil:
		return nil, refusal(store, err)
	}
	// The table [trusted] has one line for each file: "PATH" = "SHA-256 in hexadecimal".
	in, root := New(data, store)
	sum := func(file string) Value {
		return Value{Kind: show.String, Keep: func(n *show.Node, _ string) { accepted[file] = n.Text }}
	}
	in.Read(root, "", Value{Kind: show.Table, Keys: []Key{
		{Name: "version", Value: Value{Kind: show.Integer, Low: 1, High: 1}},
		{Name: "trusted", Value: Value{Kind: show.Table, Names: sum}},
	}})
	return accepted, in.Problems.Err()
}

func (s TrustStore) change(file string, edit func(accepted map[string]string, name string) error) error {
	name, err := trustName(file)
	if err != nil {
		return err
	}
	accepted, err := s.read()
	if err != nil {
		return err
	}
	if err := edit(accepted, name); err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("# Written by mcp-jail trust: project files and the SHA-256 that was accepted.\nversion = 1\n\n[trusted]\n")
	for _, name := range slices.Sorted(maps.Keys(accepted)) {
		fmt.Fprintf(&b, "%s = %s\n", show.TOML(name), show.TOML(accepted[name]))
	}
	store, err := s.path()
	if err != nil {
		return err
	}
	// Written anew as a whole: an interruption leaves the old store or the new one.
	dir, err := private.Make(filepath.Dir(store), ".")
	if err == nil {
		defer dir.Close()
		err = dir.Replace(filepath.Base(store), []byte(b.String()), private.How{Sync: true})
	}
	return refusal(store, err)
}

// UserDirs returns mcp-jail's configuration and state directories of this user.
func UserDirs() (config, state string, err error) {
	config, state, _, _, err = hostfs.UserDirs()
	return config, state, err
}
