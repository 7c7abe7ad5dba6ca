// Package private is the one door to the files that mcp-jail keeps for itself: what lies below its
// configuration, state, cache and data directories ([hostfs.StandardDirs]).
//
//   - [Open] opens a directory there, and [Make] creates it first if it is missing. The methods of
//     [Dir] open, replace, rename, lock and remove what is in it.
//   - [Follow] and [MakeFollow] are for a file that may be a symbolic link of the user, as a
//     configuration may.
//   - [ReadFile] reads one file, and [ReadFollowed] one that Follow finds.
//
// A directory is opened only if the user and root alone control the whole way to it: nobody else
// owns or may write a component, from / on (the rules are those of package hostfs). Links of the
// user or of root may lead to a directory that the caller names as the base. Below the base none
// is followed, and files have the same owners. The error is a [*hostfs.OwnerError].
//
// What was checked is what is used. The directory that was opened has the device and inode that
// were seen on the way, and all names are looked up in it by openat(2). If the directory is renamed
// or replaced afterwards, work goes on in the one that was checked. A file that was opened is the
// one that was looked at.
//
// # Limits
//
//   - On Windows, a directory belongs to the user, to administrators or to the system. Access control
//     lists are not read, which can let others write there.
//   - On Windows there are no locks.
//   - POSIX access control lists are not read. Where one lets others write, the mask that it needs
//     for that shows in the mode, as the rights of the group. The lists of macOS have no mask, so what
//     they grant to others is not seen.
//   - The user's own programs can change these files. The jail hides them from servers.
package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Dir is an open directory of mcp-jail's own. Names of its methods are single names, except where a
// method says otherwise.
type Dir struct {
	root *os.Root
	path string
	host *hostfs.Host
}

// Hold takes the exclusive lock of the directory, and waits for a process that has it. Where there are no locks, it goes on
// without one. The only error matches [ErrLocked].
func (d *Dir) Hold(atMost time.Duration) (unlock func(), err error) {
	for end := time.Now().Add(atMost); ; time.Sleep(5 * time.Millisecond) {
		unlock, err := d.Lock(Exclusive)
		switch {
		case err == nil:
			return unlock, nil
		case !errors.Is(err, ErrLocked):
			return func() {}, nil
		case time.Now().After(end):
			return nil, err
		}
	}
}

// Open opens the directory below, a path below base. The error matches fs.ErrNotExist if there is
// none.
func Open(base, below string) (*Dir, error) { return open(base, below, false) }

// Make is Open for a directory that is created, with mode 0700, if it does not exist. So are its
// parents, also those of base.
func Make(base, below string) (*Dir, error) { return open(base, below, true) }

func open(base, below string, create bool) (*Dir, error) {
	named := filepath.Join(base, below)
	if !filepath.IsAbs(base) || !filepath.IsLocal(below) {
		return nil, &fs.PathError{Op: "open", Path: named, Err: fs.ErrInvalid}
	}
	host := hostfs.OwnerHost()
	way, err := hostfs.NewLinkResolver(host).PrivateWay(base, below)
	if err != nil {
		return nil, err
	}
	if way.Rest != "" && !create {
		return nil, &fs.PathError{Op: "open", Path: named, Err: fs.ErrNotExist}
	}
	return openWay(host, way, named, way.Rest)
}

// openWay opens the directory at the end of a way, and makes what is missing below it. named is its
// name for errors.
func openWay(host *hostfs.Host, way hostfs.Way, named, missing string) (*Dir, error) {
	if !way.Info.Mode.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", way.At)
	}
	if missing != "" && !filepath.IsLocal(missing) {
		return nil, &fs.PathError{Op: "open", Path: named, Err: fs.ErrNotExist}
	}
	root, err := os.OpenRoot(way.At)
	if err != nil {
		return nil, err
	}
	d := &Dir{root, way.At, host}
	// The way was checked by name. What was opened must be the same directory.
	if opened, err := root.Stat("."); err != nil || !way.Is(opened) {
		d.Close()
		return nil, errors.Join(err, fmt.Errorf("%s was replaced while it was opened", way.At))
	}
	for name := range strings.SplitSeq(filepath.ToSlash(missing), "/") {
		if name == "" {
			continue
		}
		next, err := d.Make(name)
		d.Close()
		if err != nil {
			return nil, err
		}
		d = next
	}
	return d, nil
}

// Follow opens the directory that holds a file, and returns the name of the file there. Links of the
// user and of root are followed, also one with the name of the file. The file need not exist.
func Follow(file string) (d *Dir, name string, err error) {
	host := hostfs.OwnerHost()
	way, err := hostfs.NewLinkResolver(host).TrustedWay(file)
	if err != nil {
		return nil, "", err
	}
	if way.Rest == "" {
		way = hostfs.Way{At: filepath.Dir(way.At), Rest: filepath.Base(way.At)}
		if way.Info, err = host.Lstat(way.At); err != nil {
			return nil, "", err
		}
	}
	if filepath.Base(way.Rest) != way.Rest {
		return nil, "", &fs.PathError{Op: "open", Path: file, Err: fs.ErrNotExist}
	}
	d, err = openWay(host, way, file, "")
	return d, way.Rest, err
}

// MakeFollow is Follow for a file whose directory is created, with mode 0700, if it does not exist.
func MakeFollow(file string) (d *Dir, name string, err error) {
	d, name, err = Follow(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return d, name, err
	}
	file, err = filepath.Abs(file)
	if err == nil {
		d, err = Make(filepath.Dir(file), ".")
	}
	return d, filepath.Base(file), err
}

// Close closes the directory.
func (d *Dir) Close() error { return d.root.Close() }

// Open opens a directory in this one.
func (d *Dir) Open(name string) (*Dir, error) {
	info, err := d.look(name, false)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", d.at(name))
	}
	root, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	next := &Dir{root, d.at(name), d.host}
	if opened, err := root.Stat("."); err != nil || !os.SameFile(info, opened) {
		next.Close()
		return nil, errors.Join(err, fmt.Errorf("%s was replaced while it was opened", next.path))
	}
	return next, nil
}

// Make is Open for a directory that is created, with mode 0700, if it does not exist.
func (d *Dir) Make(name string) (*Dir, error) {
	if err := single(name); err != nil {
		return nil, err
	}
	if err := d.root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, d.full(err, name)
	}
	return d.Open(name)
}

// MakeNew creates a directory. The error matches fs.ErrExist if there is one, or something else with
// this name.
func (d *Dir) MakeNew(name string) (*Dir, error) {
	if err := single(name); err != nil {
		return nil, err
	}
	if err := d.root.Mkdir(name, 0o700); err != nil {
		return nil, d.full(err, name)
	}
	return d.Open(name)
}

// MakeTemp creates a directory with a name that cannot be foreseen, which it returns.
func (d *Dir) MakeTemp() (name string, err error) {
	name = unforeseen()
	return name, d.full(d.root.Mkdir(name, 0o700), name)
}

func (d *Dir) at(name string) string { return filepath.Join(d.path, name) }

func (d *Dir) full(err error, name string) error {
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &at):
		return &fs.PathError{Op: strings.TrimSuffix(at.Op, "at"), Path: d.at(name), Err: at.Err}
	case errors.As(err, &link):
		return &os.LinkError{Op: strings.TrimSuffix(link.Op, "at"), Old: d.at(link.Old), New: d.at(link.New), Err: link.Err}
	}
	return err
}

func single(name string) error {
	if name == "" || name == "." || !filepath.IsLocal(name) || filepath.Base(name) != name {
		return &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return nil
}

// look returns what a name is, and an error for a link and for what others control. last reports
// that the object itself is wanted, and none below it.
func (d *Dir) look(name string, last bool) (fs.FileInfo, error) {
	if err := single(name); err != nil {
		return nil, err
	}
	info, err := d.root.Lstat(name)
	if err != nil {
		return nil, d.full(err, name)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, _ := d.root.Readlink(name)
		return nil, hostfs.LinkError(d.at(name), target)
	}
	return info, d.host.CheckOwner(d.at(name), info, last)
}

// Lstat returns what a name is. It is the one method that neither refuses a link nor looks at
// owners.
func (d *Dir) Lstat(name string) (fs.FileInfo, error) {
	info, err := d.root.Lstat(name)
	return info, d.full(err, name)
}

// Names returns what the directory holds, in the order of the names.
func (d *Dir) Names() ([]fs.DirEntry, error) {
	return fs.ReadDir(d.root.FS(), ".")
}

// Root returns the directory for files in it that are not mcp-jail's own: those of a package, or of
// a server's HOME. Their owners and links are not checked, but no link leads out.
func (d *Dir) Root() *os.Root { return d.root }

// InPlace reports whether the directory still has the path by which it was opened.
func (d *Dir) InPlace() bool {
	opened, err := d.root.Stat(".")
	if err != nil {
		return false
	}
	now, err := os.Lstat(d.path)
	return err == nil && os.SameFile(opened, now)
}

// Writable returns an error if no file can be made in the directory.
func (d *Dir) Writable() error {
	temp, err := d.writeTemp(".", nil, How{})
	if temp != "" {
		err = errors.Join(err, d.root.Remove(temp))
	}
	return err
}

// Touch sets the times of a file.
func (d *Dir) Touch(name string, at time.Time) error {
	if _, err := d.look(name, true); err != nil {
		return err
	}
	return d.full(d.root.Chtimes(name, at, at), name)
}

// Remove removes a file, a link, or an empty directory. The path may have several names, as those of
// Rename.
func (d *Dir) Remove(below string) error {
	if err := d.checkParents(below); err != nil {
		return err
	}
	return d.full(d.root.Remove(below), below)
}

// RemoveAll removes a file or a directory with all that is in it, also directories that are
// read-only, and on macOS what has a flag that keeps it. The path may have several names. It follows no link out of the directory. It returns no
// error if there is nothing with this name.
func (d *Dir) RemoveAll(below string) error {
	if below == "." || !filepath.IsLocal(below) {
		return &fs.PathError{Op: "remove", Path: below, Err: fs.ErrInvalid}
	}
	err := d.root.RemoveAll(below)
	for try := 0; err != nil && try < 3; try++ { // another process may delete the same files
		fs.WalkDir(d.root.FS(), filepath.ToSlash(below), func(at string, e fs.DirEntry, _ error) error {
			name := filepath.FromSlash(at)
			ClearFlags(d.root, name)
			if e != nil && (e.IsDir() || runtime.GOOS == "windows") { // some filesystems of Windows keep a read-only file
				_ = d.root.Chmod(name, 0o700)
			}
			return nil
		})
		err = d.root.RemoveAll(below)
	}
	return d.full(err, below)
}

// Rename moves a file or directory. Both paths may have several names: their directories are
// checked as Open does. What has the new name already is replaced, as rename(2) does.
func (d *Dir) Rename(from, to string) error {
	for _, below := range []string{from, to} {
		if err := d.checkParents(below); err != nil {
			return err
		}
	}
	return d.full(d.root.Rename(from, to), from)
}

// LetGo calls unlock and closes the directory, so that it can be moved, on a system that moves no directory
// that is open: Windows. There a program that has a file of it open keeps it from being moved. On other
// systems LetGo does nothing.
func (d *Dir) LetGo(unlock func()) {
	if runtime.GOOS == "windows" {
		unlock()
		d.Close()
	}
}

func (d *Dir) checkParents(below string) error {
	parent, rest, deeper := strings.Cut(filepath.ToSlash(below), "/")
	if !deeper {
		return single(below)
	}
	next, err := d.Open(parent)
	if err != nil {
		return err
	}
	defer next.Close()
	return next.checkParents(rest)
}

// ErrLocked is in the chain of an error about a lock that another process has.
var ErrLocked = errors.New("another process has it locked")

// A Kind is a kind of lock.
type Kind int

// Kinds of locks. Many processes can have the shared lock at the same time.
const (
	Shared Kind = iota
	Exclusive
)
