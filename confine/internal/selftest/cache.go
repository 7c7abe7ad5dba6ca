//go:build darwin || linux

package selftest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/internal/private"
)

// file is the name of the result in the cache directory. Servers can neither read nor write there,
// under any policy.
const file = "seatbelt.json"

const maxFile = 1 << 20

// Key is what a result counts for: it is none where one of these has changed.
type Key struct {
	System    string `json:"system"`    // build of the operating system
	Arch      string `json:"arch"`      // of this program
	Program   string `json:"program"`   // its build
	Generator int    `json:"generator"` // seatbelt.Version
	Table     string `json:"table"`     // hash of the table
	Folds     bool   `json:"folds"`     // the volume of the cache directory ignores case
}

// stored is the content of the file.
type stored struct {
	Key    Key       `json:"key"`
	Made   time.Time `json:"made"`
	Result Result    `json:"result"`
}

// retry is how long a result counts in which something failed. A failure may come from a moment's
// load or lack of memory, and must not stop all servers until the next update of the system. For the
// servers that a client starts together, one failed test is enough.
const retry = 2 * time.Minute

// counts reports whether a program that asks before it starts servers takes the result, and does not
// test again. A start itself takes each result (Cached): what failed is a gap of it.
func (s stored) counts(asked, now time.Time) bool {
	if s.Result.Proof.Made && len(s.Result.Proof.Failed) == 0 {
		return true
	}
	age := now.Sub(s.Made)
	return age >= 0 && (age < retry || s.Made.After(asked))
}

// tableHash covers the table, and the files and entries that it is about.
func tableHash() string {
	h := sha256.New()
	json.NewEncoder(h).Encode([]any{Table(), objects, entries, unprotected, listed, systemDirs})
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// program names the build of the running program, so that a changed generator makes each result void,
// also one that kept its version.
func program() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	name := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
			name += " " + s.Value
		}
	}
	return name
}

func currentKey(cacheDir string) (Key, error) {
	system, err := systemBuild()
	if err == nil && system == "" {
		err = fmt.Errorf("it has no name")
	}
	if err != nil {
		return Key{}, fmt.Errorf("the build of the system is not known: %w", err)
	}
	folds, err := ignoresCase(cacheDir)
	return Key{system, runtime.GOARCH, program(), seatbelt.Version, tableHash(), folds}, err
}

// ignoresCase reports whether a directory is found by its name in capitals as well.
func ignoresCase(dir string) (bool, error) {
	own, err := os.Stat(dir)
	if err != nil {
		return false, err
	}
	other, err := os.Stat(filepath.Join(filepath.Dir(dir), strings.ToUpper(filepath.Base(dir))))
	return err == nil && os.SameFile(own, other), nil
}

// Cached returns the result that the cache directory has for this machine. It starts nothing. If
// there is none, the Proof is not made, and says why.
func Cached(cacheDir string) Result {
	key, err := currentKey(cacheDir)
	var s stored
	if err == nil {
		s, err = load(cacheDir, key)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return none("it has not run for this user")
	}
	if err != nil {
		return none(err.Error())
	}
	return s.Result
}

func none(why string) Result { return Result{Proof: features.Proof{Why: why}} }

// load reads a result for key. Another user cannot have written it: package private looks at the
// owners and modes of the whole way.
func load(cacheDir string, key Key) (stored, error) {
	d, err := private.Open(cacheDir, ".")
	if err != nil {
		return stored{}, err
	}
	defer d.Close()
	info, err := d.Lstat(file)
	if err != nil {
		return stored{}, err
	}
	path := filepath.Join(cacheDir, file)
	if info.Mode().Perm() != 0o600 {
		return stored{}, fmt.Errorf("%s has the mode %s, and mcp-jail writes it with -rw-------", path, info.Mode())
	}
	text, err := d.ReadFile(file, maxFile)
	if err != nil {
		return stored{}, err
	}
	var s stored
	if err := json.Unmarshal(text, &s); err != nil {
		return stored{}, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	if s.Key != key {
		return stored{}, fmt.Errorf("%s is of another build of the system, or of another version of mcp-jail", path)
	}
	if err := s.Result.whole(); err != nil {
		return stored{}, fmt.Errorf("%s cannot be believed: %w", path, err)
	}
	return s, nil
}

// whole reports whether a result that claims to be made has an outcome for every probe, and the
// failures that follow from them.
func (r Result) whole() error {
	if !r.Proof.Made {
		if r.Proof.Why == "" {
			return fmt.Errorf("it has neither a result nor a reason")
		}
		return nil
	}
	want, probes := rows(Table())
	want = append(startRows(answer{}, answer{}), want...)
	if len(r.Rows) != len(want) {
		return fmt.Errorf("it has %d probes of %d", len(r.Rows), len(want))
	}
	starts := len(want) - len(probes)
	for i, row := range r.Rows {
		w := want[i]
		if row.ID != w.ID || row.Axis != w.Axis || row.Fatal != w.Fatal || row.Info != w.Info || row.Want != w.Want {
			return fmt.Errorf("the probe %s is not that of the table", row.ID)
		}
		if i >= starts && row.Verdict != NotHere && row.Verdict != probes[i-starts].judge(row.Control, row.Got) {
			return fmt.Errorf("the probe %s has a verdict that its outcome has not", row.ID)
		}
		if row.Verdict == NotHere && (i < starts || probes[i-starts].When == Always) {
			return fmt.Errorf("the probe %s was not made", row.ID)
		}
	}
	if fmt.Sprint(failed(r.Rows)) != fmt.Sprint(r.Proof.Failed) {
		return fmt.Errorf("its failures are not those of its probes")
	}
	return nil
}

func save(d *private.Dir, s stored) error {
	text, err := json.MarshalIndent(s, "", "\t")
	if err != nil {
		return err
	}
	return d.Replace(file, append(text, '\n'), private.How{})
}
