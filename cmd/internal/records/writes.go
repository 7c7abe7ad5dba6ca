package records

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// A server that is declared on the command line is in no configuration. So each start notes in
// StateDir/writes/NAME.KEY.json where the server may write, and the starts of other servers read
// that. A start with other flags replaces the note of the same command in the same workspace.
//
// A repository chooses names and commands, too. So no note is dropped for another one: the oldest
// of a name are merged into one, which has all of their places.
const (
	writesDir = "writes"
	// maxPlaces bounds the notes of one server: it may be started in many workspaces, and every
	// start of a server reads all notes.
	maxPlaces = 16
	// maxMerged bounds the paths of a merged note. A directory takes the place of those inside.
	maxMerged = 100
)

func writesName(server, key string) string {
	return server + "." + policy.ShortHash(key) + ".json"
}

// note is the content of a file.
type note struct {
	Configured bool                 `json:"configured,omitempty"` // the server is one of a configuration
	Writes     []policy.WriterRules `json:"writes"`
}

// NoteWrites notes where a server may write. The key tells its command and workspace.
func NoteWrites(host hostfs.Host, server, key string, configured bool, rules []policy.WriterRules) error {
	name := writesName(server, key)
	if len(rules) == 0 {
		return forget(host, func(n string) bool { return n == name })
	}
	text, err := json.Marshal(note{configured, rules})
	if err != nil {
		return err
	}
	d, err := private.Make(host.StateDir, writesDir)
	if err != nil {
		return err
	}
	defer d.Close()
	if now, err := d.ReadFile(name, maxFile); err == nil && bytes.Equal(now, text) {
		return d.Touch(name, time.Now()) // it is none of the oldest
	}
	if err := d.Replace(name, text, private.How{}); err != nil {
		return err
	}
	return mergeOld(d, server)
}

func serverOfNote(name string) (server string, ok bool) {
	rest, ok := strings.CutSuffix(name, ".json")
	at := strings.LastIndexByte(rest, '.')
	if !ok || at <= 0 {
		return "", false
	}
	return rest[:at], true
}

// ForgetWrites removes the notes about a server.
func ForgetWrites(host hostfs.Host, server string) error {
	return forget(host, func(name string) bool {
		of, ok := serverOfNote(name)
		return ok && of == server
	})
}

func forget(host hostfs.Host, which func(name string) bool) error {
	d, err := private.Open(host.StateDir, writesDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	entries, err := d.Names()
	for _, e := range entries {
		if which(e.Name()) {
			err = errors.Join(err, d.Remove(e.Name()))
		}
	}
	return err
}

// Writes returns where servers may write, as their last starts noted. It leaves out the note of the
// server with own as its key, and those of configured servers: their configuration says it.
func Writes(host hostfs.Host, server, own string, configured func(server string) bool) (all []policy.WriterRules, err error) {
	d, err := private.Open(host.StateDir, writesDir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil // there are no notes
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.Names()
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		of, ok := serverOfNote(e.Name())
		if !ok || e.Name() == writesName(server, own) {
			continue
		}
		n, err := readNote(d, e.Name())
		if err != nil {
			return nil, fmt.Errorf("%s, which says where the server %q may write, cannot be read: %w. Remove it; the next start of that server writes it anew", filepath.Join(host.StateDir, writesDir, e.Name()), of, err)
		}
		if !n.Configured || !configured(of) {
			for _, w := range n.Writes {
				for at, place := range w.Rules {
					place.Rule += ", when it was last started; if it is gone: " + show.Typed("mcp-jail status --remove", of)
					w.Rules[at] = place
				}
			}
			all = append(all, n.Writes...)
		}
	}
	return all, nil
}

// readNote returns a note. It is empty if there is none: it may have been forgotten meanwhile.
func readNote(d *private.Dir, name string) (n note, err error) {
	text, err := d.ReadFile(name, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &n)
	}
	return n, err
}
