//go:build darwin || linux

package mac

import (
	"errors"
	"os"
	"path"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// MakePrivate makes the server's TMPDIR with what the spec puts there. If that fails, nothing is left. note
// is for the user if HOME is empty, although it was to be a copy.
func MakePrivate(s *spec.Spec) (note string, err error) {
	if s.TempDir == "" {
		return "", nil
	}
	// A name that exists is never taken: another program may have put it there.
	if err := makeDir(s.TempDir); err != nil {
		return "", sys.Wrap(stepPrivate, sys.On(s.TempDir, err))
	}
	var st unix.Stat_t
	switch err = unix.Lstat(s.TempDir, &st); {
	case err != nil:
		return "", sys.Wrap(stepPrivate, sys.On(s.TempDir, err))
	case st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Getuid() || st.Mode&0o777 != 0o700:
		return "", sys.Wrap(stepPrivate, sys.On(s.TempDir, errors.New("another program has replaced it")))
	}
	for _, f := range s.Files {
		if err == nil {
			err = sys.On(f.Path, os.WriteFile(f.Path, []byte(f.Content), 0o400))
		}
	}
	if err == nil && s.Home != "" {
		note, err = makeHome(s)
	}
	if err != nil {
		jail.RemoveTree(s.TempDir)
		return "", sys.Wrap(stepPrivate, err)
	}
	return note, nil
}

// makeDir makes a directory for this user, whose umask may take rights from the owner.
func makeDir(dir string) error {
	if err := unix.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return unix.Fchmodat(unix.AT_FDCWD, dir, 0o700, 0)
}

// makeHome makes the HOME of a process that has a copy of the server's own.
func makeHome(s *spec.Spec) (note string, err error) {
	// If there is nothing to copy, the server has kept nothing yet.
	if _, missing := os.Lstat(s.HomeCopy); s.HomeCopy != "" && !errors.Is(missing, os.ErrNotExist) {
		err := cloneTree(s.HomeCopy, s.Home)
		if err == nil {
			return "", makeLinks(s)
		}
		note = "HOME is empty at the start of this call, and not a copy of " + s.HomeCopy + ": " + err.Error()
		jail.RemoveTree(s.Home) // a part of it may be there
	}
	if err := makeDir(s.Home); err != nil {
		return note, sys.On(s.Home, err)
	}
	return note, makeLinks(s)
}

// makeLinks makes the links of HOME. A copy of HOME may have them already, and links of the server's
// own, which could lead anywhere: none of them is followed out of HOME.
func makeLinks(s *spec.Spec) error {
	if len(s.Links) == 0 {
		return nil
	}
	home, err := os.OpenRoot(s.Home)
	if err != nil {
		return sys.On(s.Home, err)
	}
	defer home.Close()
	for _, l := range s.Links {
		name := strings.TrimPrefix(l.Path, s.Home+"/")
		err := home.MkdirAll(path.Dir(name), 0o700)
		if err == nil {
			err = home.Symlink(l.Target, name)
		}
		if err != nil && !errors.Is(err, syscall.EEXIST) {
			return sys.On(l.Path, err)
		}
	}
	return nil
}
