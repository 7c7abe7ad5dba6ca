package session

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/presets"
)

// maxEarlier bounds the size of a file that is copied.
const maxEarlier = 64 << 20

// Earlier is what a server kept without a jail, in the user's HOME, and what its private HOME lacks: logins that its
// preset knows.
type Earlier struct {
	target *Target
	groups []group
	Left   []string // what is not copied, and why
}

// A group are files that make sense together. The first one makes the others count.
type group struct{ files []EarlierFile }

// EarlierFile is a file by its paths below the user's and the private HOME.
type EarlierFile struct {
	From, To string
	Size     int64
	changed  time.Time
}

// Logins returns the directories of the logins, as the user writes them.
func (e Earlier) Logins() string {
	var dirs []string
	for _, g := range e.groups {
		if dir := show.Line("~/" + strings.SplitN(g.files[0].From, "/", 2)[0]); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, ", ")
}

// Home returns the private HOME.
func (e Earlier) Home() string { return e.target.home().path() }

// Files returns the files that Copy copies.
func (e Earlier) Files() (all []EarlierFile) {
	for _, g := range e.groups {
		all = append(all, g.files...)
	}
	return all
}

// FindEarlier returns what the server of a target kept. Only what the server's own line names counts: a server gets
// nothing of another.
func FindEarlier(t *Target) Earlier {
	e := Earlier{target: t}
	if isByHand(t) || t.Policy.HomeReal {
		return e
	}
	user, err := os.OpenRoot(t.Host.Home)
	if err != nil {
		return e
	}
	defer user.Close()
	var own *private.Dir // nil: the server has no HOME yet
	if below, err := filepath.Rel(t.Host.StateDir, t.home().path()); err == nil {
		if own, err = private.Open(t.Host.StateDir, below); err == nil {
			defer own.Close()
		}
	}
	add := func(g group) {
		if len(g.files) > 0 {
			if own != nil {
				_, err := own.Root().Lstat(g.files[0].To)
				if !errors.Is(err, fs.ErrNotExist) { // a link of a rule leads out of it, to the user's own
					return
				}
			}
			e.groups = append(e.groups, g)
		}
	}
	argv := t.givenCommand()
	p, err := presets.Find(t.Preset())
	if err != nil {
		p, _ = presets.ForLine(argv)
	}
	if p != nil {
		if patterns := p.LoginFiles(EntryOf(p, argv, t.Host)); patterns != nil {
			for _, main := range e.matches(user, patterns[0]) {
				g := group{[]EarlierFile{main}}
				for _, pattern := range patterns[1:] {
					g.files = append(g.files, e.matches(user, path.Join(path.Dir(main.From), path.Base(pattern)))...)
				}
				add(g)
			}
		}
	}
	return e
}

// matches returns the files of the user that match a pattern, the newest first. A link is not followed.
func (e *Earlier) matches(user *os.Root, pattern string) (files []EarlierFile) {
	found, _ := fs.Glob(os.DirFS(user.Name()), pattern)
	for _, name := range found {
		info, err := user.Lstat(name)
		switch link := linkIn(user, name); {
		case link != "":
			e.Left = append(e.Left, "~/"+name+": ~/"+link+" is a symbolic link")
		case err != nil || !info.Mode().IsRegular():
		case info.Size() > maxEarlier:
			e.Left = append(e.Left, fmt.Sprintf("~/%s: it is larger than %d MB", name, maxEarlier>>20))
		default:
			files = append(files, EarlierFile{name, name, info.Size(), info.ModTime()})
		}
	}
	slices.SortStableFunc(files, func(a, b EarlierFile) int { return b.changed.Compare(a.changed) })
	return files
}

// linkIn returns the part of a path that is a symbolic link, or "".
func linkIn(root *os.Root, name string) string {
	for i := range len(name) + 1 {
		if i < len(name) && name[i] != '/' {
			continue
		}
		if info, err := root.Lstat(name[:i]); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return name[:i]
		}
	}
	return ""
}

// Copy copies the files into the private HOME, and returns a sentence for each group. It overwrites no file: what the
// server has there of a login that it did not finish stays beside it. The server can write its HOME, so Copy follows
// no link out of it.
func (e Earlier) Copy() (told []string, err error) {
	t := e.target
	if len(e.groups) == 0 {
		return nil, nil
	}
	if err := t.home().claim(); err != nil {
		return nil, err
	}
	user, err := os.OpenRoot(t.Host.Home)
	if err != nil {
		return nil, err
	}
	defer user.Close()
	for _, g := range e.groups {
		var names []string
		// The one that makes the others count comes last: a copy that fails is not taken for one.
		for _, f := range slices.Backward(g.files) {
			if err := e.copyFile(user, f); err != nil {
				return told, err
			}
			names = append(names, "~/"+f.From)
		}
		told = append(told, "copied: "+strings.Join(names, ", ")+" to the private HOME of "+show.Name(t.Policy.Server)+"; yours stays as it is")
	}
	return told, nil
}

func (e Earlier) copyFile(user *os.Root, f EarlierFile) error {
	found, err := user.Lstat(f.From)
	if err != nil || !found.Mode().IsRegular() || found.Size() > maxEarlier {
		return err
	}
	from, err := openFound(user, f.From, found)
	if err != nil {
		return err
	}
	defer from.Close()
	text, err := io.ReadAll(io.LimitReader(from, maxEarlier))
	if err != nil {
		return err
	}
	below, err := filepath.Rel(e.target.Host.StateDir, filepath.Join(e.Home(), path.Dir(f.To)))
	if err != nil {
		return err
	}
	dir, err := private.Make(e.target.Host.StateDir, below)
	if err != nil {
		return err
	}
	defer dir.Close()
	name := path.Base(f.To)
	if _, err := dir.Lstat(name); err == nil { // of a login that the server did not finish
		if err := dir.Rename(name, name+".before-login"); err != nil {
			return err
		}
	}
	_, err = dir.Create(text, private.How{Sync: true}, only(name))
	return err
}

// only yields one name.
func only(name string) iter.Seq[string] {
	return func(yield func(string) bool) { yield(name) }
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
