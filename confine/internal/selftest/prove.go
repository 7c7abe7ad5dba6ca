//go:build darwin || linux

package selftest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/sandboxexec"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/internal/private"
)

const (
	// below is the directory in the cache directory whose lock the program has that makes the test.
	below = "selftest"
	// shortName is the file there with the path of the short directory, so that the next test can
	// remove what a killed one has left.
	shortName = "short"
	// quiet is how long a test may take before the user is told about it.
	quiet = time.Second
	poll  = 50 * time.Millisecond
)

// Options say how a self-test is made. The zero value is what a start needs.
type Options struct {
	Again bool         // make the test also where there is a result
	Say   func(string) // tells the user what takes time; nil is silent
	Self  string       // the program that makes attempts (attempt.Serve); "" is the running one
	// Sandbox is sandbox-exec; "" is that of the system.
	Sandbox string

	change func(*runner) // for tests
}

// Prove returns the result for this machine, and makes the test if the cache has none that counts.
// Of several programs that ask at once, one makes the test, and all get its result.
func Prove(ctx context.Context, cacheDir string, o Options) (Result, error) {
	if o.Say == nil {
		o.Say = func(string) {}
	}
	asked := time.Now()
	d, err := private.Make(cacheDir, ".")
	if err != nil {
		return Result{}, err
	}
	defer d.Close()
	key, err := currentKey(cacheDir)
	if err != nil {
		return Result{}, err
	}
	have := func() (Result, bool) {
		s, err := load(cacheDir, key)
		usable := err == nil && s.counts(asked, time.Now()) && (!o.Again || s.Made.After(asked))
		return s.Result, usable
	}
	if r, ok := have(); ok {
		return r, nil
	}
	own, err := d.Make(below)
	if err != nil {
		return Result{}, err
	}
	defer own.Close()
	unlock, err := lock(ctx, own, o.Say)
	if err != nil {
		return Result{}, fmt.Errorf("the self-test of macOS's sandbox: %w", err)
	}
	defer unlock()
	if r, ok := have(); ok {
		return r, nil
	}
	r, err := o.make(ctx, own, filepath.Join(cacheDir, below), key)
	if err != nil {
		if ctx.Err() != nil {
			return Result{}, err // it was not the machine
		}
		r = none("the self-test could not run: " + err.Error())
	}
	if err := save(d, stored{key, time.Now(), r}); err != nil {
		return r, fmt.Errorf("the result of the self-test could not be kept: %w", err)
	}
	return r, nil
}

// lock waits for the lock of the directory. The kernel gives it up when the process ends that has it.
func lock(ctx context.Context, d *private.Dir, say func(string)) (unlock func(), err error) {
	started, told := time.Now(), false
	for {
		unlock, err = d.Lock(private.Exclusive)
		if !errors.Is(err, private.ErrLocked) {
			return unlock, err
		}
		if !told && time.Since(started) > quiet {
			say("waiting for another mcp-jail, which tests macOS's sandbox on this machine")
			told = true
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(poll):
		}
	}
}

// make makes the test in own, whose path is dir, and leaves nothing there.
func (o Options) make(ctx context.Context, own *private.Dir, dir string, key Key) (Result, error) {
	late := time.AfterFunc(quiet, func() {
		o.Say("testing macOS's sandbox on this machine: once after each update of macOS or of mcp-jail")
	})
	defer late.Stop()
	if err := clean(own); err != nil { // of a test that was killed
		return Result{}, err
	}
	r := &runner{self: o.Self, sandbox: o.Sandbox, folds: key.Folds, compile: seatbelt.Compile, build: build, perform: perform, table: Table()}
	var err error
	if r.self == "" {
		if r.self, err = os.Executable(); err != nil {
			return Result{}, err
		}
	}
	if r.self, err = filepath.EvalSymlinks(r.self); err != nil {
		return Result{}, err
	}
	if r.sandbox == "" {
		r.sandbox = sandboxexec.Path
	}
	if o.change != nil {
		o.change(r)
	}
	if r.dir, err = filepath.EvalSymlinks(dir); err != nil {
		return Result{}, err
	}
	defer func() { clean(own) }()
	r.temp = filepath.Join(shortDir, fmt.Sprintf("mj-%d-%s", os.Getuid(), strings.ToLower(rand.Text()[:8])))
	if err := own.Replace(shortName, []byte(r.temp), private.How{}); err != nil {
		return Result{}, err
	}
	if err := os.Mkdir(r.temp, 0o700); err != nil {
		return Result{}, err
	}
	return r.run(ctx)
}

// clean removes everything from the directory, and the short directory that its file names.
func clean(own *private.Dir) error {
	var all []error
	if short, err := own.ReadFile(shortName, 1000); err == nil {
		prefix := filepath.Join(shortDir, fmt.Sprintf("mj-%d-", os.Getuid()))
		if name := string(short); !strings.HasPrefix(name, prefix) || strings.Contains(name[len(prefix):], "/") {
			return fmt.Errorf("%s names a directory that is not of the self-test: %q", shortName, short)
		}
		all = append(all, removeOwn(string(short)))
	}
	names, err := own.Names()
	all = append(all, err)
	for _, n := range names {
		all = append(all, own.RemoveAll(n.Name()))
	}
	return errors.Join(all...)
}

// removeOwn removes a directory of this user below one that every user may write.
func removeOwn(dir string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !info.IsDir() || !owned(info) {
		return errors.Join(err, fmt.Errorf("%s is not the directory of a self-test", dir))
	}
	return os.RemoveAll(dir)
}
