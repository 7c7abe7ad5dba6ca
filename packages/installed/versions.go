package installed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// versions remembers the versions of interpreters, because asking one in a jail takes tens of
// milliseconds. A file in the cache directory holds them, each with the stamp of its interpreter.
type versions struct {
	host    *hostfs.Host
	known   map[string]version
	changed bool
	waive   []policy.Axis // see Jail
	run     func(ctx context.Context, host *hostfs.Host, waive []policy.Axis, file string) (string, error)
	spent   time.Duration // on asking interpreters
}

// version is the version of an interpreter, and the stamp that its file had when it told it.
type version struct {
	Version string `json:"version"`
	Stamp   string `json:"stamp"`
}

const (
	maxSpent        = 5 * time.Second     // after which no more interpreters are asked
	versionsFile    = "interpreters.json" // in the cache directory
	maxVersionsFile = 1 << 20
)

// openVersions reads the remembered versions. A file that cannot be read, or over which another
// user has control, counts as empty.
func openVersions(host *hostfs.Host, waive []policy.Axis) *versions {
	v := &versions{host: host, waive: waive, known: map[string]version{}, run: askVersion}
	if host.CacheDir == "" {
		return v
	}
	if text, err := private.ReadFile(host.CacheDir, versionsFile, maxVersionsFile); err == nil {
		if json.Unmarshal(text, &v.known) != nil {
			v.known = map[string]version{}
		}
		maps.DeleteFunc(v.known, func(_ string, k version) bool { return k.Version != versionIn(k.Version) }) // of an older mcp-jail
	}
	return v
}

// save writes the versions if one was added. Errors are of no consequence: the next start asks
// again.
func (v *versions) save() {
	if !v.changed || v.host.CacheDir == "" {
		return
	}
	text, err := json.MarshalIndent(v.known, "", "  ")
	if err != nil {
		return
	}
	if dir, err := private.Make(v.host.CacheDir, "."); err == nil {
		_ = dir.Replace(versionsFile, append(text, '\n'), private.How{})
		dir.Close()
	}
}

// stamp returns what distinguishes a file from one that replaces it, and from itself with another
// content: no program can set the time of change.
func (v *versions) stamp(file string) string {
	info, err := os.Stat(file)
	if err != nil {
		return ""
	}
	at, err := v.host.Lstat(file)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d:%d %d %s", at.ID.Dev, at.ID.Ino, info.Size(), hostfs.ChangeTime(info).UTC().Format(time.RFC3339Nano))
}

// locate returns the interpreter that PATH gives, as PATH names it and without links, and its
// remembered version or "".
func (v *versions) locate(lang language) (named, file, version string) {
	name := string(lang)
	if lang == Python {
		name = "python3"
	}
	for _, dir := range v.host.SearchPath() {
		named := filepath.Join(dir, name)
		if file, err := filepath.EvalSymlinks(named); err == nil {
			return named, file, v.remembered(file)
		}
	}
	return "", "", ""
}

// remembered returns the version that an interpreter had when it was asked, if it is still the same, or "".
func (v *versions) remembered(file string) string {
	if known, ok := v.known[file]; ok && known.Stamp != "" && known.Stamp == v.stamp(file) {
		return known.Version
	}
	return ""
}

// ask returns the version of an interpreter: the remembered one, else the one that it tells in a jail, unless
// others have taken too long before it.
func (v *versions) ask(ctx context.Context, file string) (string, error) {
	if known := v.remembered(file); known != "" {
		return known, nil
	}
	if v.spent >= maxSpent {
		return "", fmt.Errorf("%s was not asked, because those before it took too long: remove them, or start again", file)
	}
	stamp, began := v.stamp(file), time.Now()
	text, err := v.run(ctx, v.host, v.waive, file)
	v.spent += min(time.Since(began), patience) // the rest was the making of the first jail
	told := versionIn(text)
	if err != nil || told == "" {
		return text, err // the search says what is wrong with an answer
	}
	if stamp != "" {
		v.known[file], v.changed = version{told, stamp}, true
	}
	return told, nil
}

// Interpreters returns the interpreters of this machine for a language, but for the untrusted. None
// runs outside of a jail: see askVersion. What one has told is remembered. waive has the axes of a jail.
func Interpreters(ctx context.Context, host *hostfs.Host, waive []policy.Axis, untrusted func(file string) string, lang language) (Found, error) {
	versions := openVersions(host, waive)
	defer versions.save()
	return versions.find(ctx, untrusted, lang)
}

func (v *versions) find(ctx context.Context, untrusted func(file string) string, lang language) (Found, error) {
	return InterpreterFinder{Host: v.host, Untrusted: untrusted, Version: v.ask}.find(ctx, lang)
}

const (
	// patience is how long an interpreter that is asked for its version may take.
	patience = 3 * time.Second

	maxVersion = 256 // bytes of its answer
)

// askVersion runs an interpreter with --version in a jail without a network, and returns the
// beginning of its answer. The interpreter reads its installation, and writes only a directory
// that is removed afterwards.
func askVersion(ctx context.Context, host *hostfs.Host, waive []policy.Axis, file string) (string, error) {
	dir, err := os.MkdirTemp("", "mcp-jail-version-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	j := &Jail{
		Host: *host, Dir: dir, Name: "version", Purpose: "asking " + file + " for its version", Path: []string{"/usr/bin", "/bin"},
		Limits: policy.Limits{MemoryMB: 1024, Processes: 64, OpenFiles: 256, FileSizeMB: 1, MessageMB: 1},
		Waive:  waive, Patience: patience, NoStderr: true,
	}
	if err := os.MkdirAll(j.Home(), 0o700); err != nil {
		return "", err
	}
	out := &firstBytes{most: maxVersion}
	exit, _, err := j.Run(ctx, out, file, "--version")
	switch {
	// The caller has given up, and not the interpreter.
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return "", fmt.Errorf("%s --version: it did not end within %v", file, patience)
	case err != nil:
		return "", err
	case exit.Code != 0:
		return "", fmt.Errorf("%s --version: exit status %d", file, exit.Code)
	}
	return string(out.kept), nil
}

// firstBytes keeps the first bytes that are written to it.
type firstBytes struct {
	most int
	kept []byte
}

func (b *firstBytes) Write(p []byte) (int, error) {
	b.kept = append(b.kept, p[:min(len(p), b.most-len(b.kept))]...)
	return len(p), nil
}
