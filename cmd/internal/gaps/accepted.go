package gaps

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/policy"
)

// acceptedDir is where mcp-jail keeps which waivers in files of projects the user has accepted: others
// write those files, too. It is in the state directory.
const acceptedDir = "accepted"

// most bounds what is read of such a file, in bytes.
const most = 1 << 20

type accepted struct {
	File    string            `json:"file"`
	Entries map[string]string `json:"entries"` // of each key, the digest of the entry whose waivers are accepted
}

func nameOf(file string) string { return policy.ShortHash(file) + ".json" }

// UseAccepted tells files of projects which waivers of their entries the user has accepted. An entry
// that starts anything else since then does not count.
func UseAccepted(stateDir string, files []*wrapping.File) {
	for _, f := range files {
		if f.Err != nil || !f.IsProject() {
			continue
		}
		f.Accepted = map[string]bool{}
		known, _ := readAccepted(stateDir, f.Real()) // else nothing is accepted
		for _, e := range f.Entries {
			if digest := known.Entries[e.Key()]; digest == digestOf(e) {
				f.Accepted[e.Key()] = true
			}
		}
	}
}

// AreAccepted reports whether the waivers of an entry are the user's. Others may have written those of a
// project's file, so the user was asked about them.
func AreAccepted(f *wrapping.File, e wrapping.Entry) bool {
	return !f.IsProject() || f.Accepted[e.Key()]
}

func readAccepted(stateDir, file string) (known accepted, err error) {
	text, err := private.ReadFile(stateDir, filepath.Join(acceptedDir, nameOf(file)), most)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &known)
	}
	if err != nil || known.File != file {
		return accepted{}, err
	}
	return known, nil
}

// RecordAccepted keeps that the user accepts the waivers of entries of a project's file as they are now.
func RecordAccepted(stateDir string, f *wrapping.File, entries []wrapping.Entry) error {
	dir, err := private.Make(stateDir, acceptedDir)
	if err != nil {
		return err
	}
	defer dir.Close()
	before, err := readAccepted(stateDir, f.Real())
	if err != nil {
		return err
	}
	now := accepted{f.Real(), map[string]string{}}
	for _, e := range f.Entries { // entries that are gone are forgotten
		if digest := before.Entries[e.Key()]; digest == digestOf(e) {
			now.Entries[e.Key()] = digest
		}
	}
	for _, e := range entries {
		now.Entries[e.Key()] = digestOf(e)
	}
	text, err := json.MarshalIndent(now, "", "  ")
	if err != nil {
		return err
	}
	return dir.Replace(nameOf(now.File), append(text, '\n'), private.How{})
}

// digestOf tells an entry from any other that starts something else.
func digestOf(e wrapping.Entry) string {
	text, _ := json.Marshal([]any{e.Argv(), e.Cwd, e.EnvFile, e.Env, e.Names}) // of texts and flags only
	return fmt.Sprintf("%x", sha256.Sum256(text))
}
