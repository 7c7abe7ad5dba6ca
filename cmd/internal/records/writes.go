package records

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// A server that is declared on the command line is in no configuration. So each start notes in
// StateDir/writes/all.json where the server may write, and the starts of other servers read that. It is one
// file, so that a start asks the same of the host however many servers ran before. A start with other
// flags replaces the note of the same command in the same workspace.
//
// A repository chooses names and commands, too. So no note is dropped for another one: the oldest
// of a server are merged into one, which has all of their places.
const (
	writesDir  = "writes"
	writesFile = "all.json"
	// maxPlaces bounds the notes of one server, which may be started in many workspaces.
	maxPlaces = 16
	// maxMerged bounds the paths of a merged note. A directory takes the place of those inside.
	maxMerged = 100
)

// note says where a server may write. The notes of a file are in the order in which they were made.
type note struct {
	Server     string               `json:"server"`
	Key        string               `json:"key"`                  // a digest of the command and workspace; "" if the note is merged
	Configured bool                 `json:"configured,omitempty"` // the server is one of a configuration
	Writes     []policy.WriterRules `json:"writes"`
}

// NoteWrites notes where a server may write. The key tells its command and workspace.
func NoteWrites(host hostfs.Host, server, key string, configured bool, rules []policy.WriterRules) error {
	mine := note{server, policy.ShortHash(key), configured, rules}
	isMine := func(n note) bool { return n.Server == server && n.Key == mine.Key }
	return changeNotes(host, func(notes []note) []note {
		at := slices.IndexFunc(notes, isMine)
		if at < 0 && len(rules) == 0 || at >= 0 && reflect.DeepEqual(notes[at], mine) {
			return notes
		}
		notes = slices.DeleteFunc(slices.Clone(notes), isMine)
		if len(rules) == 0 {
			return notes
		}
		return mergeOld(append(notes, mine), server)
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
				place.Rule += ", when it was last started; if it is gone: " + show.Typed("mcp-jail status --remove", n.Server)
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
		return nil, fmt.Errorf("%s, which says where other servers may write, cannot be read: %w. Remove it; the next start of each server notes it anew", filepath.Join(host.StateDir, writesDir, writesFile), err)
	}
	return notes, nil
}

// mergeOld makes one note of all notes of a server but the newest maxPlaces. Those of a configured server are
// merged by themselves: see Writes.
func mergeOld(notes []note, server string) []note {
	count := 0
	for _, n := range notes {
		if n.Server == server && n.Key != "" {
			count++
		}
	}
	merged := map[bool]map[string]policy.WriteGrant{}
	kept := slices.DeleteFunc(notes, func(n note) bool {
		if n.Server != server || n.Key != "" && count <= maxPlaces {
			return false
		}
		if n.Key != "" {
			count--
		}
		if merged[n.Configured] == nil {
			merged[n.Configured] = map[string]policy.WriteGrant{}
		}
		for _, w := range n.Writes {
			addWritten(merged[n.Configured], w.Rules)
		}
		return true
	})
	for _, configured := range []bool{false, true} {
		if rules := coverPaths(merged[configured], maxMerged); len(rules) > 0 {
			name := fmt.Sprintf("an earlier start of the server %q", server)
			kept = append(kept, note{Server: server, Configured: configured, Writes: []policy.WriterRules{{Name: name, Rules: rules}}})
		}
	}
	return kept
}

// addWritten adds the paths that rules let a server write, and leaves out exceptions in them: the
// rules of another start may have none.
func addWritten(to, rules map[string]policy.WriteGrant) {
	for p, grant := range rules {
		if grant.Rights &= policy.Write; grant.Rights == 0 {
			continue
		}
		grant.Deny = 0
		if have, ok := to[p]; ok {
			grant.Rights |= have.Rights
		}
		to[p] = grant
	}
}

// coverPaths drops the paths that others cover. While more than limit are left, a directory takes
// the place of the two that share the longest beginning, and of all others inside.
func coverPaths(rules map[string]policy.WriteGrant, limit int) map[string]policy.WriteGrant {
	for {
		sorted := slices.SortedFunc(maps.Keys(rules), func(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) })
		for _, p := range sorted { // a directory is before its content
			grant := rules[p]
			around := policy.WriterRules{Rules: rules}.Sum(path.Dir(p), nil)
			if p == "/" {
				around = policy.WriteGrant{}
			}
			if grant.Rights&^around.Rights == 0 {
				delete(rules, p)
				continue
			}
			// What may write a directory may write its content.
			grant.Rights |= around.Rights
			rules[p] = grant
		}
		sorted = slices.DeleteFunc(sorted, func(p string) bool { _, left := rules[p]; return !left })
		if len(sorted) <= limit {
			return rules
		}
		// Sorted by components, the two that share most are neighbours.
		best, longest := "/", -1
		for i := range sorted[1:] {
			dir := commonDir(sorted[i], sorted[i+1])
			if n := strings.Count(strings.TrimSuffix(dir, "/"), "/"); n > longest {
				best, longest = dir, n
			}
		}
		var rights policy.Rights
		for _, p := range sorted {
			if policy.Within(p, best) {
				rights |= rules[p].Rights
				delete(rules, p)
			}
		}
		rules[best] = policy.WriteGrant{Rights: rights, Rule: "grants of several paths inside"}
	}
}

func commonDir(a, b string) string {
	for a != path.Dir(a) && !policy.Within(b, a) {
		a = path.Dir(a)
	}
	return a
}
