package undo

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestForeignStore tests that nothing is kept, read or removed behind a link below the base, or where
// others may write.
func TestForeignStore(t *testing.T) {
	link := func(at, to string) error { return errors.Join(os.Rename(at, at+".moved"), os.Symlink(to, at)) }
	for name, spoil := range map[string]func(s Store, session, elsewhere string) error{
		"control":                 func(Store, string, string) error { return nil },
		"a link above the store":  func(s Store, _, elsewhere string) error { return link(filepath.Dir(s.Dir), elsewhere) },
		"the store is a link":     func(s Store, _, elsewhere string) error { return link(s.Dir, elsewhere) },
		"others write the store":  func(s Store, _, _ string) error { return os.Chmod(s.Dir, 0o777) },
		"the session is a link":   func(_ Store, session, elsewhere string) error { return link(session, elsewhere) },
		"others write it":         func(_ Store, session, _ string) error { return os.Chmod(session, 0o777) },
		"the journal is a link":   func(_ Store, session, elsewhere string) error { return link(session+"/1.journal", elsewhere+"/file") },
		"others write in journal": func(_ Store, session, _ string) error { return os.Chmod(session+"/1.journal", 0o666) },
	} {
		t.Run(name, func(t *testing.T) {
			base, elsewhere := t.TempDir(), t.TempDir()
			testkit.Must(t, os.WriteFile(elsewhere+"/file", []byte("mine"), 0o600))
			s := Store{Dir: filepath.Join(base, "servers", "undo"), Base: base}
			w, err := s.Begin(Head{Server: "s"})
			testkit.Must(t, err)
			files, err := w.Jail(nil)
			testkit.Must(t, err)
			defer files.Journal.Close()
			defer files.Data.Close()
			defer w.Close()
			testkit.Must(t, spoil(s, w.Dir, elsewhere))
			_, err = s.Session(w.ID())
			var owner *hostfs.OwnerError
			if errors.As(err, &owner) == (name == "control") {
				t.Errorf("%v", err)
			}
			s.Expire(time.Nanosecond, 0)
			if b, err := os.ReadFile(elsewhere + "/file"); err != nil || string(b) != "mine" {
				t.Errorf("behind the link: %q, %v", b, err)
			}
			if there, err := os.ReadDir(elsewhere); err != nil || len(there) != 1 {
				t.Errorf("behind the link: %v, %v", there, err)
			}
		})
	}
}
