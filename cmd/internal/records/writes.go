package records

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"syscall"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// A server that is declared on the command line is in no configuration. So each start notes in
// StateDir/writes/all.json where the server may write, and the starts of other servers read that. It also notes what the
// server is started from: no other one is to be allowed to write there without a word. It is one
// file, so that a start asks the same of the host however many servers ran before. A start with other
// flags replaces the note of the same command in the same workspace.
//
// A repository chooses names and commands, too. So no note is dropped for another one.
const (
	writesDir  = "writes"
	writesFile = "all.json"
)

// note says where a server may write and what it is started from, or what programs it starts. The notes of a file are in the
// order in which they were made.
type note struct {
	Server     string               `json:"server"`
	Key        string               `json:"key"`                  // a digest of the command and workspace; "" for programs
	Configured bool                 `json:"configured,omitempty"` // the server is one of a configuration
	Writes     []policy.WriterRules `json:"writes"`
	Started    *policy.Started      `json:"started,omitempty"`
	Listed     bool                 `json:"listed,omitempty"` // no start noted it: see NoteListed
	Programs   *Programs            `json:"programs,omitempty"`
}

// Programs are what PATH had for the names in the line of a server.
type Programs struct {
	Taken   map[string][]string `json:"taken,omitempty"`   // the path of the last start, and those where a server may write
	Refused map[string]string   `json:"refused,omitempty"` // what the last start found and did not take
}

// NoteWrites notes where a server may write, and what it is started from, if that is known. The key tells its command and
// workspace.
func NoteWrites(host hostfs.Host, server, key string, configured bool, rules []policy.WriterRules, started *policy.Started) error {
	mine := note{Server: server, Key: policy.ShortHash(key), Configured: configured, Writes: rules, Started: started}
	return putNote(host, mine, len(rules) > 0 || started != nil && started.Program != "")
}

// NoteListed notes what servers would be started from that never were, in place of those that were noted so.
func NoteListed(host hostfs.Host, all []policy.Started) error {
	return changeNotes(host, func(notes []note) []note {
		notes = slices.DeleteFunc(slices.Clone(notes), func(n note) bool { return n.Listed })
		for _, s := range all {
			notes = append(notes, note{Server: s.Key, Started: &s, Listed: true})
		}
		return notes
	})
}

// A Start is what a server is started from, and where it may write, as it is noted.
type Start struct {
	policy.Started
	Writes []policy.WriterRules
	Listed bool // it never was, see NoteListed
}

// Starts returns what is noted of the servers but one.
func Starts(host hostfs.Host, but string) (all []Start, err error) {
	notes, err := readNotes(host)
	for _, n := range notes {
		if n.Started != nil && (n.Started.Key != but || but == "") {
			all = append(all, Start{*n.Started, n.Writes, n.Listed})
		}
	}
	return all, err
}

// With returns the programs after a start that takes those of inPath. Of the ones before it keeps some.
func (p Programs) With(inPath map[string]string, keep func(file string) bool) Programs {
	taken := map[string][]string{}
	maps.Copy(taken, p.Taken)
	for name, file := range inPath {
		before := slices.DeleteFunc(slices.Clone(taken[name]), func(b string) bool { return b == file || !keep(b) })
		taken[name] = append([]string{file}, before...)
	}
	return Programs{Taken: taken}
}

// NotePrograms notes the programs of a server, in place of those that were noted.
func NotePrograms(host hostfs.Host, server string, programs Programs) error {
	return putNote(host, note{Server: server, Programs: &programs}, true)
}

// ProgramsOf returns the programs that are noted of a server.
func ProgramsOf(host hostfs.Host, server string) (Programs, error) {
	notes, err := readNotes(host)
	for _, n := range notes {
		if n.Server == server && n.Programs != nil {
			return *n.Programs, nil
		}
	}
	return Programs{}, err
}

// putNote puts a note of a start in the place of that with its server and key. It leaves out one that says nothing.
func putNote(host hostfs.Host, mine note, says bool) error {
	isMine := func(n note) bool { return n.Server == mine.Server && n.Key == mine.Key && !n.Listed }
	return changeNotes(host, func(notes []note) []note {
		at := slices.IndexFunc(notes, isMine)
		if at < 0 && !says || at >= 0 && reflect.DeepEqual(notes[at], mine) {
			return notes
		}
		notes = slices.DeleteFunc(slices.Clone(notes), isMine)
		if !says {
			return notes
		}
		return append(notes, mine)
	})
}

// ForgetWrites removes the notes about a server.
func ForgetWrites(host hostfs.Host, server string) error {
	return changeNotes(host, func(notes []note) []note {
		return slices.DeleteFunc(slices.Clone(notes), func(n note) bool { return n.Server == server })
	})
}

// changeNotes writes the notes if change returns others. Only one process does so at a time.
func changeNotes(host hostfs.Host, change func([]note) []note) error {
	notes, err := readNotes(host)
	if err != nil || reflect.DeepEqual(change(notes), notes) {
		return err
	}
	d, err := private.Make(host.StateDir, writesDir)
	if err != nil {
		return err
	}
	defer d.Close()
	unlock, err := Dir{d}.wait(private.Exclusive, patience)
	switch {
	case errors.Is(err, private.ErrLocked):
		return err
	case err == nil: // else no lock can be had here
		defer unlock()
	}
	if notes, err = readNotes(host); err != nil {
		return err
	}
	text, err := json.Marshal(change(notes))
	if err != nil {
		return err
	}
	return d.Replace(writesFile, text, private.How{Sync: true})
}

// Writes returns where servers may write, as their last starts noted. It leaves out the note of the
// server with own as its key, and those of configured servers: their configuration says it.
func Writes(host hostfs.Host, server, own string, configured func(server string) bool) (all []policy.WriterRules, err error) {
	notes, err := readNotes(host)
	if err != nil {
		return nil, err
	}
	own = policy.ShortHash(own)
	for _, n := range notes {
		if n.Server == server && n.Key == own || n.Configured && configured(n.Server) {
			continue
		}
		for _, w := range n.Writes {
			for at, place := range w.Rules {
				place.Rule += ", when it was last started. If it is gone: " + show.Typed("mcp-jail status --remove", n.Server)
				w.Rules[at] = place
			}
		}
		all = append(all, n.Writes...)
	}
	return all, nil
}

// readNotes returns all notes, or none if there is no file.
func readNotes(host hostfs.Host) (notes []note, err error) {
	text, err := private.ReadFile(host.StateDir, filepath.Join(writesDir, writesFile), maxFile)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &notes)
	}
	if err != nil {
		return nil, fmt.Errorf("%s, which says where other servers may write, cannot be read: %w. Mend it. If you remove it instead, the next start of each server notes anew where it may write, and takes the programs that PATH has then", filepath.Join(host.StateDir, writesDir, writesFile), err)
	}
	return notes, nil
}
