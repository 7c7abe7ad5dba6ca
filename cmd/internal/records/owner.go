package records

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// ownerFile says for what the directory of a server was made: an [Owner].
const ownerFile = "owner.json"

// Owner says what has the directory of a server, and so its private HOME. A repository can give any
// name to what it starts, and must not get the HOME of the user's server of that name.
type Owner struct {
	Configured bool     `json:"configured,omitempty"` // a server of a configuration; else a command line
	Files      []string `json:"files,omitempty"`      // of --config
	Program    string   `json:"program"`              // a digest of its cmdline.Identity

	// Dir is the directory on which the program depends: see cmdline.CodeDir.
	Dir string `json:"dir,omitempty"`

	// Unanswered means that no session of a command line has had an answer of its server: nothing in its
	// HOME is worth keeping.
	Unanswered bool `json:"unanswered,omitempty"`
}

// gives reports whether the directory of one owner may be had by another, with what is in it: a server of a
// configuration whose program the user has changed, or one that the user has moved there from the
// command line.
func (o Owner) gives(to Owner) bool {
	if o.Program == to.Program {
		return to.Configured || !o.Configured
	}
	return o.Configured && to.Configured && slices.Equal(o.Files, to.Files) && (o.Dir == "" || o.Dir == to.Dir)
}

// KeptIn returns the name under which the server of a name is kept if its code depends on a directory,
// which may be "": a name of its own if there is one, else the name itself.
func KeptIn(host hostfs.Host, server, dir string) string {
	own := policy.KeptName(server, dir)
	if d, err := Open(host, own); err == nil {
		d.Close()
		return own
	}
	return server
}

// IsElsewhere reports whether a server whose code depends on a directory is kept under a name of its
// own, because the code of another directory has the name or had it at an earlier start.
func IsElsewhere(host hostfs.Host, server, dir string) bool {
	if KeptIn(host, server, dir) != server {
		return true
	}
	d, err := Open(host, server)
	if err != nil {
		return false
	}
	defer d.Close()
	has, err := d.owner()
	return err == nil && has.Dir != "" && has.Dir != dir
}

// TakeProjectHome makes the directory of a project's server. An older mcp-jail kept the HOME of such a
// server in the directory of the server's plain name: it is moved, unless there is a newer one.
func TakeProjectHome(host hostfs.Host, server, name, former string) error {
	d, err := makeDir(host, name)
	if err != nil {
		return err
	}
	defer d.Close()
	servers, err := private.Open(host.StateDir, ServersDir)
	if err != nil {
		return err
	}
	defer servers.Close()
	from, to := filepath.Join(server, former), filepath.Join(name, "home")
	if _, err := servers.Lstat(from); err != nil {
		return nil // there is no former one
	}
	if _, err := servers.Lstat(to); err == nil {
		return nil
	}
	err = servers.Rename(from, to)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		return nil // a session that started at the same time was first
	}
	return err
}

// TakeHome makes the directory of a server whose name no other one can have, and holds it until the process ends.
func TakeHome(host hostfs.Host, name string) error {
	d, err := makeDir(host, name)
	if err != nil {
		return err
	}
	defer d.Close()
	if _, held := d.lock(private.Shared, patience); !held {
		return fmt.Errorf("what is kept of the server %s is being removed; start it again when that has ended", show.Name(name))
	}
	return nil
}

// ErrOtherOwner is in the chain of the error of Claim for a directory that another owner has.
var ErrOtherOwner = errors.New("the private HOME of that name was made for another server")

// OtherOwnerError says which owner has a directory.
type OtherOwnerError struct {
	about  About
	server string
	runs   bool // no session of it has had an answer yet, and one runs
}

func (e *OtherOwnerError) Error() string {
	text := "the private HOME of the name " + show.Name(e.server) + " was made for another server"
	switch c := e.about.Configuration; {
	case c != nil && c.Configured:
		text += ": the one of that name in a configuration"
	case len(e.about.Command) > 0:
		if line, ok := show.Words(e.about.Command); ok {
			text += ": " + line
		}
		if c != nil && c.Workspace != "" {
			text += ", last started in " + show.Name(c.Workspace)
		}
	}
	if e.runs {
		text += ". That one has not answered yet, and still runs"
	}
	return text
}

func (e *OtherOwnerError) Unwrap() error { return ErrOtherOwner }

// Fix says what to do for a server of a configuration, or after --.
func (e *OtherOwnerError) Fix(configured bool) string {
	other := "give this one another name: --name " + e.server + "-2"
	if configured {
		other = "give this one another name in the configuration"
	}
	if e.runs {
		return "end that one, and start this one again; or " + other
	}
	return "if it was this server before you changed its line, `" + show.Typed("mcp-jail rm", e.server) +
		"` removes what is kept of it; else " + other
}

// Claim makes the directory of a server for an owner, or checks that the owner may have the one that
// is there, which it holds until the process ends. The error is an *OtherOwnerError if it may not.
// answered notes that the server has answered; it is nil if that is known. The caller calls it before the
// answer leaves mcp-jail, so that a killed session has kept nothing that the next start would throw away.
//
// A user who corrects the command line of a server that never came up means the same server. So the
// directory of a command line without an answer goes to another owner, with an empty HOME, unless a
// session runs.
//
// An older mcp-jail has noted no owner. Then former tells it from the About of the last session. If
// that says nothing, the directory belongs to its next start. A directory in which nothing can be
// noted, as on a full disk, stays without an owner.
func Claim(host hostfs.Host, server string, own Owner, former func(About) (o Owner, known bool)) (answered func(), err error) {
	answered, _, err = claim(host, server, own, former)
	return answered, err
}

// claim is Claim. release ends the hold.
func claim(host hostfs.Host, server string, own Owner, former func(About) (o Owner, known bool)) (answered, release func(), err error) {
	own.Unanswered = !own.Configured
	for try := 0; ; try++ { // another start may take the directory in between
		d, err := makeDir(host, server)
		if errors.Is(err, fs.ErrNotExist) && try < 3 { // it was removed while it was opened
			continue
		}
		if err != nil {
			return nil, func() {}, err
		}
		defer d.Close()
		release, held := d.lock(private.Shared, patience)
		if !held {
			return nil, func() {}, fmt.Errorf("what is kept of the server %s is being removed; start it again when that has ended", show.Name(server))
		}
		if !d.InPlace() && try < 3 { // it was removed before it was held
			release()
			continue
		}
		now, err := d.own(own, former, Path(host, server))
		if err == nil && now.Unanswered {
			answered = func() { noteAnswered(host, server) }
		}
		if !errors.Is(err, ErrOtherOwner) {
			return answered, release, err
		}
		release()
		other := &OtherOwnerError{about: d.About(), server: server}
		if !now.Unanswered || try == 3 {
			return nil, func() {}, other
		}
		if err := d.pass(own); errors.Is(err, private.ErrLocked) {
			other.runs = true
			return nil, func() {}, other
		} else if err != nil {
			return nil, func() {}, err
		}
	}
}

// own makes an owner that of a directory that has none, and else checks that this one may have the
// directory. It returns the owner that the directory has.
func (d Dir) own(own Owner, former func(About) (o Owner, known bool), path string) (now Owner, err error) {
	now, err = d.owner()
	if errors.Is(err, fs.ErrNotExist) {
		if before, known := former(d.About()); known && !before.gives(own) {
			return before, ErrOtherOwner
		}
		text, _ := json.Marshal(own)
		if name, _ := d.Create(text, private.How{}, slices.Values([]string{ownerFile})); name != "" {
			return own, nil
		}
		// A start at the same time may have been first.
		if now, err = d.owner(); errors.Is(err, fs.ErrNotExist) {
			return own, nil // nothing can be written here
		}
	}
	switch {
	case err != nil:
		return now, fmt.Errorf("%s, which says for what the private HOME was made, cannot be read: %w", filepath.Join(path, ownerFile), err)
	case !now.gives(own):
		return now, ErrOtherOwner
	}
	own.Unanswered = own.Unanswered && now.Unanswered
	if !reflect.DeepEqual(own, now) {
		_ = d.note(own) // else the next start does it
	}
	return own, nil
}

// pass gives the directory of a command line without an answer to another owner, with an empty HOME. If
// it is killed in between, the directory has its owner still. The error is private.ErrLocked if a session
// has the directory.
func (d Dir) pass(own Owner) error {
	unlock, err := d.wait(private.Exclusive, patience)
	if err != nil {
		return err
	}
	defer unlock()
	if now, err := d.owner(); err != nil || !now.Unanswered {
		return nil // it is no longer so
	}
	if err := d.RemoveAll("home"); err != nil {
		return err
	}
	return d.note(own)
}

// noteAnswered notes that the server of a directory has answered. If it cannot, the next session does it.
func noteAnswered(host hostfs.Host, server string) {
	d, err := Open(host, server)
	if err != nil {
		return
	}
	defer d.Close()
	if now, err := d.owner(); err == nil && now.Unanswered {
		now.Unanswered = false
		_ = d.note(now)
	}
}

func (d Dir) owner() (o Owner, err error) {
	text, err := d.ReadFile(ownerFile, maxFile)
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	return o, err
}

// CodeDir returns the directory on which the server's code depends, or "".
func (d Dir) CodeDir() string {
	has, err := d.owner()
	if err != nil {
		return ""
	}
	return has.Dir
}

func (d Dir) note(o Owner) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return d.Replace(ownerFile, text, private.How{})
}
