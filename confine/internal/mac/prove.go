//go:build darwin || linux

package mac

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
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

	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/internal/private"
)

// file is the name of the result in the cache directory. Servers can neither read nor write there, under any
// policy.
const file = "seatbelt.json"

// stored is the content of the file.
type stored struct {
	Key   string       `json:"key"` // for what machine the result counts
	Made  time.Time    `json:"made"`
	Proof kernel.Proof `json:"proof"`
}

// Options say how a self-test is made. The zero value is what a start needs.
type Options struct {
	Again   bool         // make the test also where there is a result
	Say     func(string) // tells the user what takes time; nil is silent
	Sandbox string       // sandbox-exec; "" is that of the system
}

// key names what a result counts for: the build of the system and of this program, and the table.
func key() (string, error) {
	system, err := systemBuild()
	if err != nil || system == "" {
		return "", fmt.Errorf("the build of the system is not known: %w", err)
	}
	table := sha256.Sum256(fmt.Append(nil, probes, objects, entries, unprotected, systemDirs))
	key := fmt.Sprintf("%s %s %d %x", system, runtime.GOARCH, seatbelt.Version, table[:16])
	if info, ok := debug.ReadBuildInfo(); ok {
		key += " " + info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
				key += " " + s.Value
			}
		}
	}
	return key, nil
}

// retry is how long a result counts in which something failed: it may come from a moment's load, and must not
// stop all servers until the next update of the system.
const retry = 2 * time.Minute

// Prove returns the result for this machine, and makes the test if the cache has none that counts. Two
// programs that ask at once may both make it.
func Prove(ctx context.Context, cacheDir string, o Options) (kernel.Proof, error) {
	d, err := private.Make(cacheDir, ".")
	if err != nil {
		return kernel.Proof{}, err
	}
	defer d.Close()
	if s, err := load(cacheDir); err == nil && !o.Again && (s.Proof.Failed == nil || time.Since(s.Made).Abs() < retry) {
		return s.Proof, nil
	}
	if o.Say != nil {
		late := time.AfterFunc(time.Second, func() {
			o.Say("testing macOS's sandbox on this machine: once after each update of macOS or of mcp-jail")
		})
		defer late.Stop()
	}
	proof, err := o.test(ctx, cacheDir)
	if err != nil {
		return kernel.Proof{}, fmt.Errorf("the self-test of macOS's sandbox could not run: %w", err)
	}
	now, err := key()
	if err == nil {
		text, _ := json.MarshalIndent(stored{now, time.Now(), proof}, "", "\t")
		err = d.Replace(file, append(text, '\n'), private.How{})
	}
	if err != nil {
		return proof, fmt.Errorf("the result of the self-test could not be kept: %w", err)
	}
	return proof, nil
}

// test makes the test in directories of its own, which it removes.
func (o Options) test(ctx context.Context, cacheDir string) (proof kernel.Proof, err error) {
	r := runner{sandbox: o.Sandbox, perform: perform}
	if r.sandbox == "" {
		r.sandbox = Path
	}
	if r.self, err = os.Executable(); err == nil {
		r.self, err = filepath.EvalSymlinks(r.self)
	}
	if err != nil {
		return proof, err
	}
	dir, err := os.MkdirTemp(cacheDir, "selftest-")
	if err != nil {
		return proof, err
	}
	defer os.RemoveAll(dir)
	if r.dir, err = filepath.EvalSymlinks(dir); err != nil {
		return proof, err
	}
	r.temp = filepath.Join(shortDir, fmt.Sprintf("mj-%d-%s", os.Getuid(), strings.ToLower(rand.Text()[:8])))
	if err := os.Mkdir(r.temp, 0o700); err != nil {
		return proof, err
	}
	defer os.RemoveAll(r.temp)
	return r.run(ctx)
}

// Cached returns the result that the cache directory has for this machine. It starts nothing.
func Cached(cacheDir string) (kernel.Proof, error) {
	s, err := load(cacheDir)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("it has not run for this user")
	}
	return s.Proof, err
}

// load reads the result for this machine. Another user cannot have written it: package private looks at the
// owners and modes of the whole way.
func load(cacheDir string) (s stored, err error) {
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
		return stored{}, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	if now, err := key(); err != nil || s.Key != now || !s.Proof.Made {
		return stored{}, errors.Join(err, fmt.Errorf("%s is of another build of the system, or of another version of mcp-jail", path))
	}
	return s, nil
}
