package session

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/presets"
)

// maxLogin bounds the size of a file with a login.
const maxLogin = 1 << 20

// Logins are the files of the user's HOME with logins that a server got without a jail, and that its
// private HOME lacks.
type Logins struct {
	target *Target
	groups [][]string // of each login, its files relative to HOME, those that make it one first
}

// Dirs returns the directories of the files, as the user writes them.
func (l Logins) Dirs() string {
	var dirs []string
	for _, group := range l.groups {
		if dir := show.Line("~/" + strings.SplitN(group[0], "/", 2)[0]); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, ", ")
}

// FindLogins returns the logins that the preset of the target's server knows. Only what the server's
// own line names counts: a server gets no login of another.
func FindLogins(t *Target) Logins {
	l := Logins{target: t}
	if isByHand(t) {
		return l
	}
	argv := t.givenCommand()
	p, err := presets.Find(t.Preset())
	if err != nil {
		named, ok := presets.ForLine(argv)
		if !ok {
			return l
		}
		p = named
	}
	patterns := p.LoginFiles(EntryOf(p, argv, t.Host))
	if patterns == nil || t.Policy.HomeReal {
		return l
	}
	user, err := os.OpenRoot(t.Host.Home)
	if err != nil {
		return l
	}
	defer user.Close()
	var own *private.Dir // nil: the server has no HOME yet
	if below, err := filepath.Rel(t.Host.StateDir, t.home().path()); err == nil {
		if own, err = private.Open(t.Host.StateDir, below); err == nil {
			defer own.Close()
		}
	}
	has := func(name string) bool {
		if own == nil {
			return false
		}
		_, err := own.Root().Lstat(name)
		return !errors.Is(err, fs.ErrNotExist) // a link of a rule leads out of it, to the user's own
	}
	files, _ := fs.Glob(user.FS(), patterns[0])
	for _, main := range files {
		group := []string{main}
		for _, pattern := range patterns[1:] {
			also, _ := fs.Glob(user.FS(), path.Join(path.Dir(main), path.Base(pattern)))
			group = append(group, also...)
		}
		if isFile(user, main) && !has(main) {
			l.groups = append(l.groups, group)
		}
	}
	return l
}

func isFile(root *os.Root, name string) bool {
	info, err := root.Lstat(name)
	return err == nil && info.Mode().IsRegular() && info.Size() <= maxLogin
}

// Copy copies the logins into the private HOME, and returns a sentence for each. It overwrites no file:
// what the server has there of a login that it did not finish stays beside it. The server can write its
// HOME, so Copy follows no link out of it.
func (l Logins) Copy() (told []string, err error) {
	t := l.target
	if len(l.groups) == 0 {
		return nil, nil
	}
	h := t.home()
	if err := h.claim(); err != nil {
		return nil, err
	}
	below, err := filepath.Rel(t.Host.StateDir, h.path())
	if err != nil {
		return nil, err
	}
	dir, err := private.Make(t.Host.StateDir, below)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	user, err := os.OpenRoot(t.Host.Home)
	if err != nil {
		return nil, err
	}
	defer user.Close()
	for _, group := range l.groups {
		// The one that makes it a login comes last: a copy that fails is not taken for one.
		for _, name := range slices.Backward(group) {
			if err := copyLogin(user, dir.Root(), name); err != nil {
				return told, err
			}
		}
		told = append(told, "copied: ~/"+strings.Join(group, ", ~/")+" to the private HOME of "+show.Name(t.Policy.Server)+"; yours stays as it is")
	}
	return told, nil
}

func copyLogin(from, to *os.Root, name string) error {
	found, err := from.Lstat(name)
	if err != nil || !found.Mode().IsRegular() || found.Size() > maxLogin {
		return nil
	}
	f, err := openFound(from, name, found)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxLogin))
	if err != nil {
		return err
	}
	if err := to.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	if _, err := to.Lstat(name); err == nil { // of a login that the server did not finish
		if err := to.Rename(name, name+".before-login"); err != nil {
			return err
		}
	}
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return errors.Join(err, out.Close())
}

// openFound opens a file that was looked at. Another server may be allowed to write the directory, and put
// a link to another file of the user in its place meanwhile, or a fifo.
func openFound(from *os.Root, name string, found fs.FileInfo) (*os.File, error) {
	f, err := from.OpenFile(name, os.O_RDONLY|hostfs.OpenFlags, 0)
	if err != nil {
		return nil, err
	}
	if opened, err := f.Stat(); err != nil || !os.SameFile(found, opened) {
		f.Close()
		return nil, errors.Join(err, &fs.PathError{Op: "copy", Path: name, Err: errors.New("it was replaced meanwhile")})
	}
	return f, nil
}
