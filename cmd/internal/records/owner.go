package records

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/mcp-jail/mcp-jail/internal/homelinks"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
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
}

// gives reports whether the directory of one owner may be had by another: a server of a
// configuration whose program the user has changed, or one that the user has moved there from the
// command line.
func (o Owner) gives(to Owner) bool {
	if o.Program == to.Program {
		return to.Configured || !o.Configured
	}
	return o.Configured && to.Configured && slices.Equal(o.Files, to.Files)
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

// ErrOtherOwner is in the chain of the error of Claim for a directory that another owner has.
var ErrOtherOwner = errors.New("the private HOME of that name was made for another server")

// OtherOwnerError says which owner has a directory.
type OtherOwnerError struct {
	about  About
	server string
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
	return text
}

func (e *OtherOwnerError) Unwrap() error { return ErrOtherOwner }

// Fix says what to do for a server of a configuration, or after --.
func (e *OtherOwnerError) Fix(configured bool) string {
	how := "--name NAME"
	if configured {
		how = "in the configuration"
	}
	return "if it was this server before you changed its line, `" + show.Typed("mcp-jail rm", e.server) +
		"` removes what is kept of it; else give this one another name, " + how
}

// Claim makes the directory of a server for an owner, or checks that the owner may have the one that
// is there, which it holds until the process ends. The error is an *OtherOwnerError if it may not.
//
// A user who corrects the command line of a server that never came up means the same server. So a
// command line also gets the directory of another one of which each session ended before its first answer,
// and which has left nothing in its HOME.
//
// An older mcp-jail has noted no owner. Then former tells it from the About of the last session. If
// that says nothing, the directory belongs to its next start. A directory in which nothing can be
// noted, as on a full disk, stays without an owner.
func Claim(host hostfs.Host, server string, own Owner, former func(About) (o Owner, known bool)) error {
	_, err := claim(host, server, own, former)
	return err
}

// claim is Claim. release ends the hold.
func claim(host hostfs.Host, server string, own Owner, former func(About) (o Owner, known bool)) (release func(), err error) {
	d, err := makeDir(host, server)
	if err != nil {
		return func() {}, err
	}
	defer d.Close()
	for try := 0; ; try++ {
		release = d.hold()
		err = d.own(own, former, Path(host, server))
		if !errors.Is(err, ErrOtherOwner) {
			return release, err
		}
		release()
		if try > 0 || own.Configured || !d.forget(homelinks.Home{StateDir: host.StateDir, Server: filepath.Join(ServersDir, server)}) {
			return func() {}, &OtherOwnerError{about: d.About(), server: server}
		}
	}
}

func (d Dir) own(own Owner, former func(About) (o Owner, known bool), path string) error {
	text, err := json.Marshal(own)
	if err != nil {
		return err
	}
	noted, err := d.ReadFile(ownerFile, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		if before, known := former(d.About()); known && !before.gives(own) {
			return ErrOtherOwner
		}
		if name, _ := d.Create(text, private.How{}, slices.Values([]string{ownerFile})); name != "" {
			return nil
		}
		// A start at the same time may have been first.
		if noted, err = d.ReadFile(ownerFile, maxFile); errors.Is(err, fs.ErrNotExist) {
			return nil // nothing can be written here
		}
	}
	var before Owner
	if err == nil && !bytes.Equal(noted, text) {
		err = json.Unmarshal(noted, &before)
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s, which says for what the private HOME was made, cannot be read: %w", filepath.Join(path, ownerFile), err)
	case bytes.Equal(noted, text):
		return nil
	case !before.gives(own):
		return ErrOtherOwner
	}
	_ = d.Replace(ownerFile, text, private.How{}) // else the next start does it
	return nil
}

// forget removes the note of a command line that never came up and has left nothing. It does
// so only while no session holds the directory: one that starts meanwhile finds no note, and is an owner
// as any other. Links to what rules granted are mcp-jail's own, and go with the HOME.
func (d Dir) forget(home homelinks.Home) bool {
	if !d.neverCame() {
		return false
	}
	if _, release, err := home.Link(nil); err == nil { // it leaves those of a session that runs
		release()
	}
	unlock, err := d.Dir.Lock(private.Exclusive)
	if err != nil {
		return false // a session runs, or there are no locks here
	}
	defer unlock()
	if !d.neverCame() {
		return false
	}
	if err := d.Remove("home"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false // something is in it
	}
	return d.Remove(aboutFile) == nil && d.Remove(ownerFile) == nil
}

// neverCame reports whether the directory is that of a command line whose server has never answered.
func (d Dir) neverCame() bool {
	var before Owner
	noted, err := d.ReadFile(ownerFile, maxFile)
	return err == nil && json.Unmarshal(noted, &before) == nil && !before.Configured && d.neverAnswered()
}
