// Package records keeps the record of the last session of each server, which `mcp-jail why`
// reads, in the state directory of the user.
//
//   - [New] returns the Recorder of a session: its Save is the Sink of lifecycle.Session.
//   - [About] says what runs and for which client, for `mcp-jail status`.
//   - [Open] opens the directory of a server's records. [Dir.Marker] reveals sessions that have no
//     record, and [Dir.Running] reports whether a session has the
//     directory.
//   - [Load] returns the record of a server's last session, and facts about other sessions.
//
// All files are opened by package private. Two sessions of one server may write at the same time;
// the last one wins.
//
// # Identity
//
// [IDOf] says who a server is: from what is known of a start to the one key under which mcp-jail keeps
// its HOME, its records, its policy and its logins. Nothing else concludes that from words.
//
//   - A server with an id has what its file has, if the words are those of the file: see [SameWords].
//   - A server of a configuration is known by the name of its table, one of a project's file by that file
//     as well.
//   - Any other start is known by its words, the program that they start and the directory in which they
//     were started, all together: after another word or in another directory it is another server.
package records

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// ServersDir is the directory, in the state directory, that has a directory for each server.
const ServersDir = "servers"

// The files of a server. The private HOME of the server is their sibling, so the server cannot see
// them.
const (
	lastFile   = "last.json"   // the record of the last session
	failedFile = "failed.json" // the record of the last failed session before it
	aboutFile  = "about.json"
	markerFile = "begun"
	portsFile  = "ports" // is empty: see PortLocks
)

// maxFile bounds what is read of a file, in bytes.
const maxFile = 64 << 20

// Path returns the directory of a server's records, which is also that of its private HOMEs.
func Path(host hostfs.Host, server string) string {
	return filepath.Join(host.StateDir, ServersDir, server)
}

// Dir is the open directory of a server's records.
type Dir struct{ *private.Dir }

// Open opens the directory of a server's records. The error matches fs.ErrNotExist if the server
// had no session.
func Open(host hostfs.Host, server string) (Dir, error) {
	own, err := private.Open(host.StateDir, filepath.Join(ServersDir, server))
	return Dir{own}, err
}

func makeDir(host hostfs.Host, server string) (Dir, error) {
	own, err := private.Make(host.StateDir, filepath.Join(ServersDir, server))
	return Dir{own}, err
}

// Opener returns a function that opens the directory of a server's records, and makes it if it is missing.
func Opener(host hostfs.Host, server string) func() (*private.Dir, error) {
	return func() (*private.Dir, error) {
		d, err := makeDir(host, server)
		return d.Dir, err
	}
}

// Recorder writes the record of one session. If it cannot, the session continues and
// warns of it.
type Recorder struct {
	// About returns what runs. It is called after the start, which does not wait for it. If it is
	// nil, no file of it is written.
	About func() About
	// Project is that of the records: see diagnostics.Record.
	Project string

	aboutMu   sync.Mutex // ClientNamed and Save run on different goroutines
	client    Client
	described bool // About and client are in their file

	open    func() (Dir, error) // opens the directory of the records, and makes it if it is missing
	unsafe  error               // why nothing may be written; nil if it may
	saveErr error               // of the last save
	saved   bool                // there is a record of this session
}

// New returns the recorder of a session of a server.
func New(host hostfs.Host, server string) *Recorder {
	return &Recorder{open: func() (Dir, error) { return makeDir(host, server) }}
}

// MarkStart marks the start of a session. Until this process ends, Running reports that it runs.
func (k *Recorder) MarkStart() {
	d, err := k.open()
	if err == nil {
		defer d.Close()
		err = d.touch()
		d.hold()
		k.describe(d) // with the name by which people call it
	}
	var owner *hostfs.OwnerError
	if errors.As(err, &owner) {
		k.unsafe = err
	}
}

// Save writes a record. It is the Sink of the session.
func (k *Recorder) Save(r diagnostics.Record) {
	if k.unsafe != nil {
		k.saveErr = k.unsafe
		return
	}
	d, err := k.open()
	if err != nil {
		k.saveErr = err
		return
	}
	defer d.Close()
	k.describe(d)
	k.saveErr = k.write(d, r)
	if _, begun := d.Marker(); k.saveErr != nil && !begun && !k.saved {
		d.Remove(lastFile) // an older record would be taken for that of this session
	}
}

// touch marks the start of a session: the time of the marker reveals a session that has no record. If it
// fails, writing the record fails too, and the session warns of that.
func (d Dir) touch() error {
	f, err := d.OpenFile(markerFile, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), d.Touch(markerFile, time.Now()))
}

// Marker returns when the latest session began. ok reports whether that is known.
func (d Dir) Marker() (begun time.Time, ok bool) {
	info, err := d.Lstat(markerFile)
	if err != nil {
		return begun, false
	}
	return info.ModTime(), true
}

// BegunSince reports whether a session began after the last record was written, and has not
// failed: a failure is recorded at once. session is the Time of the record. The time of its file can be some
// milliseconds too early, and so before its own session's marker.
func (d Dir) BegunSince(session time.Time) bool {
	written := d.Written()
	begun, marked := d.Marker()
	return !written.IsZero() && marked && begun.After(session) && begun.After(written)
}

// LastError returns the error of the last save. It is the Lost of the session.
func (k *Recorder) LastError() error { return k.saveErr }

func (k *Recorder) write(d Dir, r diagnostics.Record) error {
	r.Project = k.Project
	b, err := r.Encode()
	if err != nil {
		return err
	}
	err = d.Replace(lastFile, b, private.How{Before: func() error {
		if !k.saved {
			d.preserveFailure()
		}
		return nil
	}})
	k.saved = k.saved || err == nil
	return err
}

// preserveFailure keeps a copy of the record of an earlier session if that session failed: this
// session is about to replace it.
func (d Dir) preserveFailure() {
	b, err := d.ReadFile(lastFile, maxFile)
	if err != nil {
		return
	}
	if diagnostics.HasDiagnosis(b) {
		_ = d.Replace(failedFile, b, private.How{})
	}
}

// Reader returns a function that reads the record of a server's last session.
func Reader(host hostfs.Host, server string) func() (diagnostics.Record, bool) {
	return func() (diagnostics.Record, bool) {
		d, err := Open(host, server)
		if err != nil {
			return diagnostics.Record{}, false
		}
		defer d.Close()
		return d.Last()
	}
}

// Last returns the record of the last session. ok reports whether there is a readable one.
func (d Dir) Last() (r diagnostics.Record, ok bool) { return d.read(lastFile) }

// Failed returns the record of the last failed session before the last one.
func (d Dir) Failed() (r diagnostics.Record, ok bool) { return d.read(failedFile) }

func (d Dir) read(name string) (r diagnostics.Record, ok bool) {
	b, err := d.ReadFile(name, maxFile)
	if err != nil {
		return r, false
	}
	r, err = diagnostics.DecodeRecord(b)
	return r, err == nil
}

// Written returns when the last record was written, or the zero time if there is none.
func (d Dir) Written() (at time.Time) {
	if info, err := d.Lstat(lastFile); err == nil {
		at = info.ModTime()
	}
	return at
}

// Load reads the record of a server's last session and adds what is known of other sessions.
func Load(host hostfs.Host, server string) (record diagnostics.Record, err error) {
	none := errors.New("there is no record of a session of it")
	d, err := Open(host, server)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return record, none
	case err != nil:
		return record, err
	}
	defer d.Close()
	begun, marked := d.Marker()
	b, err := d.ReadFile(lastFile, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		if marked {
			return record, errors.New(diagnostics.LostRecord{Time: begun}.Text())
		}
		return record, none
	}
	if err != nil {
		return record, err
	}
	if record, err = diagnostics.DecodeRecord(b); err != nil {
		return record, fmt.Errorf("%s: %w", filepath.Join(Path(host, server), lastFile), err)
	}
	// These members tell of other sessions: only the other files count for them.
	if record.Newer = nil; marked && record.Time.Before(begun) {
		record.Newer = &diagnostics.LostRecord{Time: begun}
	}
	if record.Failed = nil; len(record.Diagnoses) == 0 {
		if failed, ok := d.Failed(); ok {
			failed.Failed, failed.Newer = nil, nil
			record.Failed = &failed
		}
	}
	return record, nil
}

// PortLocks opens the file in which each session of a server locks the ports that it has: see confine.NewPorts.
func PortLocks(host hostfs.Host, server string) func() (*os.File, error) {
	return func() (*os.File, error) {
		d, err := makeDir(host, server)
		if err != nil {
			return nil, err
		}
		defer d.Close()
		return d.OpenFile(portsFile, os.O_RDWR|os.O_CREATE, 0o600)
	}
}

// Running reports whether a session of the server runs now.
func (d Dir) Running() bool {
	unlock, free := d.Lock()
	if free {
		unlock()
	}
	return !free
}

// Rename moves the directory with a server's HOME and records to another name, unless that exists.
func Rename(host hostfs.Host, former, name string) error {
	d, err := Open(host, former)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	unlock, ok := d.Lock()
	if !ok {
		return fmt.Errorf("a session uses the HOME of %s, which stays where it is: end it, and rename %s to %s there", show.Name(former), Path(host, former), show.Name(name))
	}
	defer unlock()
	servers, err := private.Open(host.StateDir, ServersDir)
	if err != nil {
		return err
	}
	defer servers.Close()
	if _, err := servers.Lstat(name); err == nil {
		return fmt.Errorf("%s has its own HOME already, so that of %s stays in %s", show.Name(name), show.Name(former), Path(host, former))
	}
	return servers.Rename(former, name)
}

// patience is how often a start tries to take the lock of a directory: for two seconds.
const patience = 400

// hold takes a shared lock on the directory of a server until the process ends, so that no
// `status --remove` removes the directory during a session.
func (d Dir) hold() { d.lock(private.Shared, patience) }

// Lock takes an exclusive lock on the directory of a server. ok is false if a session has the
// directory. The caller calls unlock.
func (d Dir) Lock() (unlock func(), ok bool) { return d.lock(private.Exclusive, 2) }

// lock is wait. Where there are no locks, every lock is free.
func (d Dir) lock(kind private.Kind, tries int) (unlock func(), ok bool) {
	unlock, err := d.wait(kind, tries)
	if err != nil {
		unlock = func() {}
	}
	return unlock, !errors.Is(err, private.ErrLocked)
}

// wait tries to take a lock, with 5 ms between two tries: Running in another process takes it for a
// moment, and a client ends the server whose line it has changed at the time when it starts the new one.
func (d Dir) wait(kind private.Kind, tries int) (unlock func(), err error) {
	for try := 1; ; try++ {
		unlock, err = d.Dir.Lock(kind)
		if !errors.Is(err, private.ErrLocked) || try >= tries {
			return unlock, err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TakeHome makes the directory of a server, and holds it until the process ends.
func TakeHome(host hostfs.Host, name string) error {
	d, err := makeDir(host, name)
	if err != nil {
		return err
	}
	defer d.Close()
	if _, held := d.lock(private.Shared, patience); !held {
		return fmt.Errorf("the HOME and the records of the server %s are being removed; start it again when that has ended", show.Name(name))
	}
	return nil
}

// About says what runs as a server, and for which client. It has its own file beside the
// record, because it is written early in a session, and only if it has changed.
type About struct {
	Command []string `json:"command"` // as the user gave it, without values of secret variables
	Client  Client   `json:"client"`  // of the last session that named one
	Package *Package `json:"package,omitempty"`
	Name    string   `json:"name,omitempty"`    // by which people call the server, if it is kept under another one
	Project string   `json:"project,omitempty"` // the project's file whose own server it is
	Waived  []string `json:"waived,omitempty"`  // the axes whose gaps the policy of the last session accepts
	// Configuration says which files gave the last session its policy.
	Configuration *Configuration `json:"configuration,omitempty"`
}

// Configuration says which files gave a session its policy.
type Configuration struct {
	ID         string   `json:"id,omitempty"`        // of its file: the id of a server, or the key of a command after --
	Files      []string `json:"files,omitempty"`     // of --config; without them the usual layers
	Workspace  string   `json:"workspace,omitempty"` // where a project's file was looked for
	Configured bool     `json:"configured"`          // else it has a command after --
}

// Client has the name and version that a client gives for itself.
type Client struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
}

// Package is the installed package that a session ran.
type Package struct {
	Ecosystem string `json:"ecosystem"`
	Spec      string `json:"spec"` // with the ecosystem, the key in mcp-jail.lock
	Name      string `json:"name"`
	Version   string `json:"version"`
}

// maxClientText bounds the bytes that are kept of a client's name, and of its version.
const maxClientText = 200

// ReadAbout returns the About of a server. It is zero if there is no readable file, or if another
// user could have written it.
func ReadAbout(host hostfs.Host, server string) About {
	d, err := Open(host, server)
	if err != nil {
		return About{}
	}
	defer d.Close()
	return d.About()
}

// About returns the About of the server, as ReadAbout does.
func (d Dir) About() (a About) {
	text, err := d.ReadFile(aboutFile, maxFile)
	if err != nil || json.Unmarshal(text, &a) != nil {
		return About{}
	}
	return a
}

// ClientNamed saves the name and version that the client gives for itself. It is the ClientNamed
// of the session.
func (k *Recorder) ClientNamed(name, version string) {
	k.aboutMu.Lock()
	k.client = Client{name[:min(len(name), maxClientText)], version[:min(len(version), maxClientText)]}
	k.described = false
	k.aboutMu.Unlock()
	if d, err := k.open(); err == nil {
		defer d.Close()
		k.describe(d)
	}
}

// describe writes the About of the server, unless the file has it already. It reports no error:
// no session depends on the file. Without it, the commands of mcp-jail-cli know less of the
// server.
func (k *Recorder) describe(d Dir) {
	k.aboutMu.Lock()
	defer k.aboutMu.Unlock()
	if k.described || k.unsafe != nil || k.About == nil {
		return
	}
	k.described = true
	about, before := k.About(), d.About()
	if about.Client = k.client; about.Client.Name == "" {
		about.Client = before.Client
	}
	if text, err := json.MarshalIndent(about, "", "  "); err == nil && !reflect.DeepEqual(about, before) {
		_ = d.Replace(aboutFile, append(text, '\n'), private.How{})
	}
}
