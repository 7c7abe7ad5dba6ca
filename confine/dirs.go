//go:build darwin || linux

package confine

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/gateway"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// makeDirs creates the directories that the profile asks for, with their parents. It returns the
// directories that did not exist, each after its parent. Directories that no rule asked for (the
// private HOME, mcp-jail's own) and their new parents have mode 0700, and no other user may have
// made them first, as is possible in a directory like /tmp.
func makeDirs(p *policy.Profile) (made []string, err error) {
	for _, e := range p.Entries {
		if !e.Make {
			continue
		}
		// Only what did not exist is removed if the start fails, the deepest directory first.
		var missing []string
		for dir := e.Path; ; dir = path.Dir(dir) {
			if _, err := os.Lstat(dir); err == nil || dir == path.Dir(dir) {
				break
			}
			missing = append(missing, dir)
		}
		slices.Reverse(missing)
		made = append(made, missing...)
		if e.Origin == policy.OriginRule {
			err = makeDir(e.Path, 0o777)
		} else {
			err = makeOwn(e.Path)
		}
		if err == nil {
			continue
		}
		removeDirs(made)
		return nil, notMade(e, err)
	}
	return made, nil
}

func notMade(e policy.Entry, err error) error {
	var owner *hostfs.OwnerError
	if errors.As(err, &owner) {
		return &sys.Error{Step: "create directory", Detail: err.Error()}
	}
	return &sys.Error{Step: "create directory", Detail: e.Path + " (" + e.Rule + ")", Errno: sys.Errno(err)}
}

// CheckStart returns the error with which a start by a plan would end before its jail is built, as far as that can be
// known without starting anything: a directory that cannot be made, or a secret that cannot be read.
func CheckStart(plan *Plan) error {
	for _, e := range plan.Profile.Entries {
		dir := e.Path
		for e.Make && unix.Access(dir, unix.F_OK) == unix.ENOENT {
			dir = path.Dir(dir)
		}
		if dir == e.Path {
			continue
		}
		if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
			return notMade(e, err)
		}
	}
	return gateway.CheckTLS(plan)
}

func makeOwn(p string) error {
	d, err := private.Make("/", strings.TrimPrefix(p, "/"))
	if err != nil {
		return err
	}
	return d.Close()
}

// makeDir makes a directory and its missing parents. It follows no symbolic link.
func makeDir(p string, mode fs.FileMode) error {
	const flags = searchDir | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	at, err := unix.Open("/", flags, 0)
	for _, name := range strings.FieldsFunc(p, func(r rune) bool { return r == '/' }) {
		if err != nil {
			return err
		}
		next, missing := unix.Openat(at, name, flags, 0)
		if err = missing; err == unix.ENOENT {
			if err = unix.Mkdirat(at, name, uint32(mode)); err == nil || err == unix.EEXIST {
				next, err = unix.Openat(at, name, flags, 0)
			}
		}
		var st unix.Stat_t
		if err == unix.ENOTDIR && unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
			err = unix.ELOOP
		}
		unix.Close(at)
		at = next
	}
	if err == nil {
		unix.Close(at)
	}
	return err
}

// removeDirs removes directories that makeDirs has made, as far as they are empty.
func removeDirs(made []string) {
	for _, dir := range slices.Backward(made) {
		unix.Rmdir(dir)
	}
}
