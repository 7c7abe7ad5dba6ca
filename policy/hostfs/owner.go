package hostfs

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Only the user or root may control what mcp-jail believes: a configuration, the trust
// store, and the state directory with the private HOMEs and the records. Another user has
// control over a file if that user owns it, may write it, or could replace it. Every
// directory on the way allows a replacement if another user owns it or may write it. In a
// directory with the sticky bit (/tmp), users can only replace their own files.

// OwnerError reports a file or directory over which another user has control.
type OwnerError struct {
	File   string // the file that is not used
	At     string // the object with the problem: File itself, or one on the way to it
	Reason string // the problem of At
	Fix    string
}

func (e *OwnerError) Error() string { return e.File + " is refused: " + e.Detail() }

// Detail returns the message without the file's name.
func (e *OwnerError) Detail() string {
	at := e.At
	if at == e.File {
		at = "it"
	}
	return at + " " + e.Reason + "; " + e.Fix
}

// CheckPrivate checks a file that mcp-jail keeps for itself or is about to create: name, a
// path below dir. Symbolic links of the user or of root may lead to dir; below it there
// must be none. The error is an [*OwnerError], or the reason why a path could not be
// examined.
func CheckPrivate(dir, name string) error {
	return NewLinkResolver(OwnerHost()).CheckPrivate(dir, name)
}

// OwnerHost returns a host that only answers questions about owners.
func OwnerHost() *Host {
	h := &Host{Lstat: lstat, Readlink: os.Readlink, OS: runtime.GOOS}
	h.setOwners()
	return h
}

func (h *Host) setOwners() { h.UID, h.OwnGroup, h.Unmapped = os.Getuid(), isOwnGroup, isUnmapped }

// CheckPrivate is the function CheckPrivate on another host.
func (f *LinkResolver) CheckPrivate(dir, name string) error {
	if f.host.UID < 0 {
		return nil // access control lists, which are not read
	}
	end, err := f.checkOwners("/", dir, true, path.Join(dir, name))
	if err == nil && end != "" {
		_, err = f.checkOwners(end, name, false, path.Join(dir, name))
	}
	return err
}

// CheckTrusted is CheckPrivate for a configuration file, which may itself be a symbolic
// link of the user or of root.
func (f *LinkResolver) CheckTrusted(file string) error {
	if f.host.UID < 0 {
		return nil
	}
	abs, err := filepath.Abs(file)
	if err == nil {
		_, err = f.checkOwners("/", abs, true, abs)
	}
	return err
}

// checkOwners examines every component of todo, beginning in the directory at, which has
// been examined. It returns the path where todo ends, or "" if that does not exist. Each
// component decides whether the next one can be replaced, so one look at each is enough.
func (f *LinkResolver) checkOwners(at, todo string, links bool, file string) (end string, err error) {
	refuse := func(at, reason, fix string) (string, error) {
		return "", &OwnerError{File: file, At: at, Reason: reason, Fix: fix}
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
			return "", nil
		case s.Err != nil:
			return "", fmt.Errorf("%s cannot be looked at: %w", next, s.Err)
		}
		if reason, fix := f.host.ownerProblem(next, s.Info, todo == ""); reason != "" {
			return refuse(next, reason, fix)
		}
		if s.Info.Mode&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if !links {
			return refuse(next, "is a symbolic link (to "+s.target+"), and none is followed there", "remove it")
		}
		if crossed++; crossed > maxLinks {
			return "", errLoop
		}
		if todo = s.target + "/" + todo; strings.HasPrefix(s.target, "/") {
			at = "/"
		}
		todo = strings.TrimRight(todo, "/")
	}
	return at, nil
}

// ownerProblem returns why another user has control over an object, and how to change that,
// or "". last reports that the object is the file that was asked for, not a directory or
// link on the way.
func (h *Host) ownerProblem(p string, info FileInfo, last bool) (reason, fix string) {
	own := info.UID == 0 || info.UID == h.UID ||
		(!last || policy.Within(p, policy.SystemConfigDir)) && h.Unmapped != nil && h.Unmapped(info.UID)
	switch {
	case !own:
		return fmt.Sprintf("belongs to %s, and you are %s: that user decides what stands there", describeUser(info.UID), describeUser(h.UID)),
			"name a place of your own (HOME, XDG_CONFIG_HOME and XDG_STATE_HOME say where mcp-jail's are; sudo -H sets HOME), or make it yours with chown"
	case info.Mode&fs.ModeSymlink != 0 || info.Mode.IsDir() && info.Mode&fs.ModeSticky != 0 && !last:
		return "", ""
	case info.Mode&0o002 != 0, info.Mode&0o020 != 0 && (h.OwnGroup == nil || !h.OwnGroup(info.GID)):
		return fmt.Sprintf("may be written by other users (mode %#o)", info.Mode.Perm()), "look at what it holds, then: chmod go-w " + policy.QuoteShell(p)
	}
	return "", ""
}

// describeUser returns the name and number of a user for messages.
func describeUser(uid int) string {
	if name := accountName(uid); name != "" {
		return fmt.Sprintf("user %s (%d)", name, uid)
	}
	return fmt.Sprintf("user %d", uid)
}
