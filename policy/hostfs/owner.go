package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Only the user or root may control what mcp-jail believes: a configuration, the trust
// store, and the state directory with the private HOMEs and the records. Another user has
// control over a file if that user owns it, may write it, or could replace it. Every
// directory on the way allows a replacement if another user owns it or may write it. In a
// directory with the sticky bit (/tmp), users can only replace their own files.

// OwnerError reports a file or directory over which another user has control.
type OwnerError struct {
	Role   string // what the file is to mcp-jail; may be empty
	File   string // the file that is not used
	At     string // the object with the problem: File itself, or one on the way to it
	Reason string // the problem of At
	Fix    string
}

func (e *OwnerError) Error() string {
	return strings.TrimPrefix(e.Role+" ", " ") + e.File + " is refused: " + e.Detail()
}

// Detail returns the message without the file's name.
func (e *OwnerError) Detail() string {
	at := e.At
	if at == e.File {
		at = "it"
	}
	return at + " " + e.Reason + "; " + e.Fix
}

// OwnerHost returns a host that only answers questions about owners.
func OwnerHost() *Host {
	h := &Host{Lstat: lstat, Readlink: os.Readlink, OS: runtime.GOOS}
	h.setOwners()
	return h
}

func (h *Host) setOwners() {
	h.UID, h.OwnGroup, h.Unmapped = os.Getuid(), isOwnGroup, isUnmapped
	h.SelfUnmapped = h.UID > 0 && isUnmapped(h.UID) && !isMapped(h.UID)
}

// CheckPrivate checks a file that mcp-jail keeps for itself or is about to create: name, a
// path below dir. Symbolic links of the user or of root may lead to dir; below it there
// must be none. The error is an [*OwnerError], or the reason why a path could not be
// examined.
func (f *LinkResolver) CheckPrivate(dir, name string) error {
	_, err := f.PrivateWay(dir, name)
	return err
}

// A Way is a path that only the user and root control. If At is replaced later, the object
// there has another ID than Info has.
type Way struct {
	At   string // the last object on the way that exists, without symbolic links
	Info FileInfo
	Rest string // what is missing below At; "" if nothing is
}

// PrivateWay checks what CheckPrivate checks, and returns where it ends.
func (f *LinkResolver) PrivateWay(dir, name string) (Way, error) {
	if f.host.UID < 0 {
		way, err := f.wayOnWindows(filepath.Join(dir, name))
		return way, f.host.nameVariable(err, dir)
	}
	// Up to dir, the user may have chosen other places by links. Below it, only mcp-jail makes names.
	way, err := f.checkOwners("/", dir, true, path.Join(dir, name))
	if err != nil || path.Clean(name) == "." {
		return way, f.host.nameVariable(err, dir)
	}
	if way.Rest != "" {
		way.Rest = path.Join(way.Rest, name)
		return way, nil
	}
	return f.checkOwners(way.At, name, false, path.Join(dir, name))
}

// TrustedWay is PrivateWay for a file that may itself be a symbolic link of the user or of root,
// as a configuration may.
func (f *LinkResolver) TrustedWay(file string) (Way, error) {
	abs, err := filepath.Abs(file)
	switch {
	case err != nil:
		return Way{}, err
	case f.host.UID < 0:
		if real, err := filepath.EvalSymlinks(abs); err == nil {
			abs = real
		}
		return f.wayOnWindows(abs)
	}
	return f.checkOwners("/", abs, true, abs)
}

// CheckTrusted checks what TrustedWay checks.
func (f *LinkResolver) CheckTrusted(file string) error {
	_, err := f.TrustedWay(file)
	return err
}

// wayOnWindows checks to which account the last object of a way belongs. The others are not looked at: there
// access control lists decide who may replace a name, and they are not read.
func (f *LinkResolver) wayOnWindows(file string) (Way, error) {
	at, rest := filepath.Clean(file), ""
	for f.Lstat(at).Err != nil && at != filepath.Dir(at) {
		at, rest = filepath.Dir(at), filepath.Join(filepath.Base(at), rest)
	}
	check := checkAccount
	if f.host.Account != nil {
		check = f.host.Account
	}
	return Way{At: at, Info: f.Lstat(at).Info, Rest: rest}, check(at)
}

// checkOwnDirs returns an [*OwnerError] if another user has control over one of mcp-jail's own
// directories, or chooses where it will be. A directory that cannot be looked at is another matter:
// what needs it says so.
func (h *Host) checkOwnDirs() error {
	f := NewLinkResolver(h)
	for _, own := range h.ownDirs() {
		var owner *OwnerError
		if err := f.CheckPrivate(own.dir, "."); errors.As(err, &owner) {
			owner.Role = "mcp-jail's " + own.role + " directory"
			return owner
		}
	}
	return nil
}

// ownDir is a directory of mcp-jail's own, and the variable that names where it is.
type ownDir struct{ dir, role, variable string }

func (h *Host) ownDirs() [4]ownDir {
	return [...]ownDir{{h.ConfigDir, "configuration", "XDG_CONFIG_HOME"}, {h.StateDir, "state", "XDG_STATE_HOME"}, {h.CacheDir, "cache", "XDG_CACHE_HOME"}, {h.DataDir, "data", "XDG_DATA_HOME"}}
}

func (h *Host) nameVariable(err error, dir string) error {
	var owner *OwnerError
	if !errors.As(err, &owner) {
		return err
	}
	for _, own := range h.ownDirs() {
		if own.dir != dir {
			continue
		}
		names := own.variable + " names that place: let it name one of your own"
		if v, _ := h.UserEnv(own.variable); !filepath.IsAbs(v) {
			names = "HOME names that place: let it name your own home directory (sudo -H does)"
		}
		owner.Fix = strings.Replace(owner.Fix, ownPlace, names, 1)
		break
	}
	return err
}

// CheckOwner returns an [*OwnerError] if another user has control over an open file, or over one
// that was looked at. last reports that the file itself is wanted, and no object below it.
func (h *Host) CheckOwner(file string, info os.FileInfo, last bool) error {
	if h.UID < 0 {
		return nil
	}
	if reason, fix := h.ownerProblem(file, infoOf(info), last, false); reason != "" {
		return &OwnerError{File: file, At: file, Reason: reason, Fix: fix}
	}
	return nil
}

// Is reports whether info is that of the object at the end of the way.
func (w Way) Is(info os.FileInfo) bool {
	opened := infoOf(info)
	return opened.ID.Dev == w.Info.ID.Dev && opened.ID.Ino == w.Info.ID.Ino && opened.Mode.Type() == w.Info.Mode.Type()
}

// checkOwners examines every component of todo, beginning in the directory at, which has
// been examined. Each component decides whether the next one can be replaced, so one look at each
// is enough.
func (f *LinkResolver) checkOwners(at, todo string, links bool, file string) (way Way, err error) {
	refuse := func(at, reason, fix string) (Way, error) {
		return Way{}, &OwnerError{File: file, At: at, Reason: reason, Fix: fix}
	}
	todo = strings.Trim(path.Clean(todo), "/")
	for crossed := 0; todo != ""; {
		var name string
		name, todo, _ = strings.Cut(todo, "/")
		switch name {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, name)
		s := f.Lstat(next)
		switch {
		case s.Err == fs.ErrNotExist:
			return Way{At: at, Info: f.Lstat(at).Info, Rest: path.Join(name, todo)}, nil
		case s.Err != nil:
			return Way{}, fmt.Errorf("%s cannot be looked at: %w", next, s.Err)
		}
		// The owner of a directory or a link decides what the rest of the path leads to.
		if reason, fix := f.host.ownerProblem(next, s.Info, todo == "", isShared(f.Lstat(at).Info)); reason != "" {
			return refuse(next, reason, fix)
		}
		if s.Info.Mode&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if !links {
			return refuse(next, linkReason(s.target), "remove it")
		}
		if crossed++; crossed > maxLinks {
			return Way{}, errLoop
		}
		// What the link names comes before the rest of the way.
		if todo = s.target + "/" + todo; strings.HasPrefix(s.target, "/") {
			at = "/"
		}
		todo = strings.TrimRight(todo, "/")
	}
	return Way{At: at, Info: f.Lstat(at).Info}, nil
}

func linkReason(target string) string {
	return "is a symbolic link (to " + target + "), and none is followed there"
}

// LinkError returns the error about a symbolic link below one of mcp-jail's own directories.
func LinkError(file, target string) error {
	return &OwnerError{File: file, At: file, Reason: linkReason(target), Fix: "remove it"}
}

// CheckSingle returns an [*OwnerError] for a file with several names (hard links).
func CheckSingle(file string, info os.FileInfo) error {
	if infoOf(info).Links <= 1 {
		return nil
	}
	return &OwnerError{File: file, At: file, Reason: "has another name elsewhere (hard link)", Fix: "remove it"}
}

// Others returns why other users have control over a directory, or "". Nothing is known of one that
// does not exist.
func (f *LinkResolver) Others(dir string) string {
	s := f.Lstat(dir)
	if s.Err != nil || f.host.UID < 0 {
		return ""
	}
	reason, _ := f.host.ownerProblem(dir, s.Info, true, false)
	return reason
}

const ownPlace = "name a place of your own"

// isShared reports whether every user may make names in a directory, as in /tmp.
func isShared(dir FileInfo) bool { return dir.Mode&fs.ModeSticky != 0 && dir.Mode&0o002 != 0 }

// isOwn reports whether an object counts as the user's or root's. The kernel shows one number for
// all owners that a user namespace does not know. Where root is among them, an object of that number
// counts as root's if only root can have put it there: a directory or link on the way, outside of a
// shared directory, or below [policy.SystemConfigDir].
func (h *Host) isOwn(p string, info FileInfo, last, inShared bool) bool {
	switch {
	case info.UID == 0, info.UID == h.UID && !h.SelfUnmapped:
		return true
	case h.Unmapped == nil || !h.Unmapped(info.UID) || inShared:
		return false
	}
	return !last || policy.Within(p, policy.SystemConfigDir)
}

// ownerProblem returns why another user has control over an object, and how to change that,
// or "". last reports that the object is the file that was asked for, not a directory or
// link on the way. inShared reports that every user may make names where the object is.
func (h *Host) ownerProblem(p string, info FileInfo, last, inShared bool) (reason, fix string) {
	own := h.isOwn(p, info, last, inShared)
	switch {
	case !own && info.UID == h.UID:
		return "may belong to any user: the user namespace around mcp-jail does not know you, and shows you and all others as " + describeUser(h.UID),
			"have that namespace map your user (unshare --map-current-user, bwrap)"
	case !own:
		return fmt.Sprintf("belongs to %s, and you are %s: that user decides what is there", describeUser(info.UID), describeUser(h.UID)),
			ownPlace + ", or make it yours with chown"
	case info.Mode&fs.ModeSymlink != 0 || info.Mode.IsDir() && info.Mode&fs.ModeSticky != 0 && !last:
		return "", ""
	case info.Mode&0o002 != 0, info.Mode&0o020 != 0 && (h.OwnGroup == nil || !h.OwnGroup(info.GID)):
		return fmt.Sprintf("may be written by other users (mode %#o)", info.Mode.Perm()), "look at what it holds, then: " + show.Typed("chmod go-w", p)
	}
	return "", ""
}

func describeUser(uid int) string {
	if name := accountName(uid); name != "" {
		return fmt.Sprintf("user %s (%d)", name, uid)
	}
	return fmt.Sprintf("user %d", uid)
}

// Accounts of Windows, beside the user's, whose files mcp-jail believes: administrators, the system, and
// the installer, to which the files of the system belong.
const (
	administrators = "S-1-5-32-544"
	localSystem    = "S-1-5-18"
	installer      = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"
)

// isOwnAccount reports whether the owner of a file is the user, the system, its installer or an administrator. Both
// are written as SIDs.
func isOwnAccount(owner, user string) bool {
	switch owner {
	case "":
		return false
	case user, administrators, localSystem, installer:
		return true
	}
	return false
}

// ofAccount returns the error about a file that belongs to another account.
func ofAccount(file, account string) error {
	return &OwnerError{File: file, At: file, Reason: "belongs to " + account, Fix: ownPlace}
}
