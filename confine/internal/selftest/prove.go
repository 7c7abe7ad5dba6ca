//go:build darwin || linux

package selftest

import (
	"context"
	"crypto/rand"
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

// file is the name of the result in the cache directory. Servers can neither read nor write there, under any
// policy.
const file = "seatbelt.json"

// stored is the content of the file.
type stored struct {
	Key    string    `json:"key"` // for what machine the result counts
	Made   time.Time `json:"made"`
	Result Result    `json:"result"`
}

// Options say how a self-test is made. The zero value is what a start needs.
type Options struct {
	Again   bool         // make the test also where there is a result
	Say     func(string) // tells the user what takes time; nil is silent
	Self    string       // the program that makes attempts (Serve); "" is the running one
	Sandbox string       // sandbox-exec; "" is that of the system
}

// key names what a result counts for: the build of the system and of this program, the table, and whether the
// volume of the cache directory ignores case.
func key(cacheDir string) (string, bool, error) {
	system, err := systemBuild()
	if err != nil || system == "" {
		return "", false, fmt.Errorf("the build of the system is not known: %w", err)
	}
	h := sha256.New()
	json.NewEncoder(h).Encode([]any{Table(), objects, entries, unprotected, systemDirs})
	build := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		build = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
				build += " " + s.Value
			}
		}
	}
	own, err := os.Stat(cacheDir)
	if err != nil {
		return "", false, err
	}
	other, err := os.Stat(filepath.Join(filepath.Dir(cacheDir), strings.ToUpper(filepath.Base(cacheDir))))
	folds := err == nil && os.SameFile(own, other)
	return fmt.Sprintf("%s %s %d %s %t %s", system, runtime.GOARCH, seatbelt.Version, hex.EncodeToString(h.Sum(nil)[:16]), folds, build), folds, nil
}

// retry is how long a result counts in which something failed: it may come from a moment's load, and must not
// stop all servers until the next update of the system.
const retry = 2 * time.Minute

// Prove returns the result for this machine, and makes the test if the cache has none that counts. Two
// programs that ask at once may both make it.
func Prove(ctx context.Context, cacheDir string, o Options) (Result, error) {
	d, err := private.Make(cacheDir, ".")
	if err != nil {
		return Result{}, err
	}
	defer d.Close()
	now, folds, err := key(cacheDir)
	if err != nil {
		return Result{}, err
	}
	if s, err := load(cacheDir, now); err == nil && !o.Again && (s.Result.Proof.Failed == nil || time.Since(s.Made).Abs() < retry) {
		return s.Result, nil
	}
	if o.Say != nil {
		late := time.AfterFunc(time.Second, func() {
			o.Say("testing macOS's sandbox on this machine: once after each update of macOS or of mcp-jail")
		})
		defer late.Stop()
	}
	r, err := o.make(ctx, cacheDir, folds)
	if err != nil {
		return Result{}, fmt.Errorf("the self-test of macOS's sandbox could not run: %w", err)
	}
	text, err := json.MarshalIndent(stored{now, time.Now(), r}, "", "\t")
	if err == nil {
		err = d.Replace(file, append(text, '\n'), private.How{})
	}
	if err != nil {
		return r, fmt.Errorf("the result of the self-test could not be kept: %w", err)
	}
	return r, nil
}

// make makes the test in directories of its own, which it removes.
func (o Options) make(ctx context.Context, cacheDir string, folds bool) (Result, error) {
	dir, err := os.MkdirTemp(cacheDir, "selftest-")
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(dir)
	temp := filepath.Join(shortDir, fmt.Sprintf("mj-%d-%s", os.Getuid(), strings.ToLower(rand.Text()[:8])))
	if err := os.Mkdir(temp, 0o700); err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(temp)
	r, err := newRunner(o, dir, temp, folds)
	if err != nil {
		return Result{}, err
	}
	return r.run(ctx)
}

// Cached returns the result that the cache directory has for this machine. It starts nothing. If there is
// none, the Proof is not made, and says why.
func Cached(cacheDir string) Result {
	now, _, err := key(cacheDir)
	var s stored
	if err == nil {
		s, err = load(cacheDir, now)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Result{Proof: features.Proof{Why: "it has not run for this user"}}
	case err != nil:
		return Result{Proof: features.Proof{Why: err.Error()}}
	}
	return s.Result
}

// load reads a result for a key. Another user cannot have written it: package private looks at the owners and
// modes of the whole way.
func load(cacheDir, key string) (s stored, err error) {
	d, err := private.Open(cacheDir, ".")
	if err != nil {
		return s, err
	}
	defer d.Close()
	text, err := d.ReadFile(file, 1<<20)
	if err != nil {
		return s, err
	}
	path := filepath.Join(cacheDir, file)
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	if s.Key != key || !s.Result.Proof.Made {
		return s, fmt.Errorf("%s is of another build of the system, or of another version of mcp-jail", path)
	}
	return s, nil
}
