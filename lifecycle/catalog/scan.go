package catalog

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// maxSurvey bounds the files that are looked at for a fingerprint: some ten
// milliseconds of them.
const maxSurvey = 4096

// maxTime bounds a fingerprint where every look takes long (a filesystem of the
// network): the client waits for its first answer. A look that never ends is not
// bounded by it.
const maxTime = 3 * time.Second

// maxNames bounds a directory in which names are looked for.
const maxNames = 1 << 16

// survey digests files by what stat tells of them.
type survey struct {
	profile *policy.Profile
	sum     hash.Hash
	left    int // files that may still be looked at
	until   time.Time
	seen    map[string]bool
	err     error // the first reason for which there is no fingerprint
}

func newSurvey(p *policy.Profile) *survey {
	return &survey{profile: p, sum: sha256.New(), left: maxSurvey, until: time.Now().Add(maxTime), seen: map[string]bool{}}
}

func (s *survey) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("%w: "+format, append([]any{ErrNotCacheable}, args...)...)
	}
}

// note digests one fact about a path, each field with its length before it.
func (s *survey) note(what, path string, values ...int64) {
	b := binary.BigEndian.AppendUint64(nil, uint64(len(what)))
	b = append(b, what...)
	b = binary.BigEndian.AppendUint64(b, uint64(len(path)))
	b = append(b, path...)
	b = binary.BigEndian.AppendUint64(b, uint64(len(values)))
	for _, v := range values {
		b = binary.BigEndian.AppendUint64(b, uint64(v))
	}
	s.sum.Write(b)
}

// first tells whether something is to be done for the first time, and whether
// there is still time for it.
func (s *survey) first(what, path string) bool {
	if s.err != nil || s.seen[what+path] {
		return false
	}
	s.seen[what+path] = true
	return true
}

// spend takes note of one more look at a file, and tells whether it may be made.
func (s *survey) spend() bool {
	if s.left--; s.left < 0 {
		s.fail("it has more than %d files", maxSurvey)
	}
	if time.Now().After(s.until) {
		s.fail("looking at its files takes longer than %s", maxTime)
	}
	return s.err == nil
}

func (s *survey) lstat(path string) (os.FileInfo, bool) {
	if !s.spend() {
		return nil, false
	}
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	if err != nil {
		s.fail("%w", err)
		return nil, false
	}
	return fi, true
}

// file notes what is at a path, or that nothing is. It returns what a link leads to.
func (s *survey) file(path string) (os.FileInfo, bool) {
	fi, ok := s.lstat(path)
	if !ok {
		s.note("absent", path)
		return nil, false
	}
	return s.record(path, fi)
}

// record notes what lstat said of a path, and where a link leads.
func (s *survey) record(path string, fi os.FileInfo) (os.FileInfo, bool) {
	values, known := stamp(fi)
	if !known {
		s.fail("files cannot be told apart on this system")
		return nil, false
	}
	if fi.IsDir() {
		values = []int64{values[0], values[2], values[3]} // its times change with what is of no interest in it
	}
	s.note("file", path, values...)
	if fi.Mode()&fs.ModeSymlink == 0 {
		return fi, true
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		s.note("dangling", path)
		return nil, false
	}
	s.note("link", real)
	return s.file(real)
}

// reach returns where a name leads. The server chooses links: what it cannot read is
// no part of it, and is not opened for it, either.
func (s *survey) reach(path string) (real string, ok bool) {
	real, err := filepath.EvalSymlinks(path)
	return real, err == nil && (real == path || s.readable(real))
}

func (s *survey) readable(real string) bool { return s.profile.RightsAt(real).Has(policy.Read) }

// names lists a directory, sorted; none where there is no directory. Nobody has asked
// what the name stands for: the server chooses it, and a fifo must not be waited for.
func (s *survey) names(dir string) []string {
	if s.err != nil {
		return nil
	}
	real, ok := s.reach(dir)
	if !ok {
		return nil
	}
	f, err := os.OpenFile(real, os.O_RDONLY|dirFlags, 0)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			s.fail("%w", err)
		}
		return nil
	}
	defer f.Close()
	names, err := f.Readdirnames(maxNames)
	if err != nil && len(names) == 0 {
		return nil // empty
	}
	if len(names) == maxNames {
		s.fail("%s has more than %d files", dir, maxNames)
	}
	slices.Sort(names)
	return names
}

// skipped are directories that programs leave beside their code.
var skipped = []string{".git", ".hg", ".svn", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".cache"}

// tree notes the files of a package: all but those of the packages that it uses,
// which their own directory stands for.
func (s *survey) tree(dir string) {
	if !s.first("tree", dir) {
		return
	}
	s.note("tree", dir)
	for _, name := range s.names(dir) {
		path := filepath.Join(dir, name)
		switch {
		case slices.Contains(skipped, name):
			continue
		case name == "node_modules":
			s.modules(path)
			continue
		}
		fi, ok := s.lstat(path)
		switch {
		case !ok:
		case !fi.IsDir():
			s.record(path, fi)
		case exists(filepath.Join(path, "pyvenv.cfg")):
			s.environment(path)
		default:
			s.tree(path)
		}
	}
}

// lockFiles are what package managers rewrite when they change a node_modules.
var lockFiles = []string{".package-lock.json", ".yarn-integrity", ".yarn-state.yml", ".pnpm/lock.yaml"}

// modules notes a node_modules: its lock file, or else every package in it by its
// directory and package.json, which whoever installs one replaces.
func (s *survey) modules(dir string) {
	if !s.first("modules", dir) || !exists(dir) {
		return
	}
	s.note("modules", dir)
	locked := false
	for _, name := range lockFiles {
		if lock := filepath.Join(dir, name); exists(lock) {
			s.file(lock)
			locked = true
		}
	}
	if locked {
		return
	}
	for _, name := range s.names(dir) {
		path := filepath.Join(dir, name)
		if !strings.HasPrefix(name, "@") {
			s.module(path)
			continue
		}
		for _, scoped := range s.names(path) {
			s.module(filepath.Join(path, scoped))
		}
	}
}

func (s *survey) module(dir string) {
	s.file(dir)
	if manifest := filepath.Join(dir, "package.json"); exists(manifest) {
		s.file(manifest)
	}
}

// list notes what is directly in a directory.
func (s *survey) list(dir string) {
	if !s.first("list", dir) {
		return
	}
	s.note("list", dir)
	for _, name := range s.names(dir) {
		if !slices.Contains(skipped, name) {
			s.file(filepath.Join(dir, name))
		}
	}
}

// environment notes the packages of a Python installation or virtual environment.
func (s *survey) environment(prefix string) {
	if !s.first("environment", prefix) {
		return
	}
	s.note("environment", prefix)
	if config := filepath.Join(prefix, "pyvenv.cfg"); exists(config) {
		s.file(config)
	}
	for _, lib := range [...]string{"lib", "lib64", "local/lib"} {
		for _, version := range s.names(filepath.Join(prefix, lib)) {
			if !strings.HasPrefix(version, "python3") && !strings.HasPrefix(version, "pypy3") {
				continue
			}
			for _, kind := range [...]string{"site-packages", "dist-packages"} {
				s.packages(filepath.Join(prefix, lib, version, kind))
			}
		}
	}
}

// packages notes a site-packages: whoever installs something makes a directory
// with its version there. Path files lead to code that is elsewhere.
func (s *survey) packages(dir string) {
	s.list(dir)
	for _, name := range s.names(dir) {
		switch {
		case strings.HasPrefix(name, "__editable__") && strings.HasSuffix(name, ".py"), strings.HasSuffix(name, ".egg-link"):
			s.fail("%s in %s leads to code that is elsewhere", name, dir)
		case strings.HasSuffix(name, ".pth"):
			text, err := s.read(filepath.Join(dir, name))
			if err != nil {
				s.fail("%w", err)
			}
			for _, line := range strings.Split(string(text), "\n") {
				if line = strings.TrimSpace(line); filepath.IsAbs(line) {
					s.leads(line)
				}
			}
		}
	}
}

// leads notes the code that a line of a path file leads to, where the server can read
// that: it may have written the line.
func (s *survey) leads(line string) {
	if !s.spend() {
		return
	}
	real, err := filepath.EvalSymlinks(line)
	if err != nil || !s.readable(real) {
		return
	}
	if fi, ok := s.lstat(real); ok && fi.IsDir() {
		s.tree(real)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// maxSmall bounds a file whose content is looked at.
const maxSmall = 64 << 10

// read reads a small file, through links as far as the server could.
func (s *survey) read(path string) ([]byte, error) {
	real, ok := s.reach(path)
	if !ok {
		return nil, fmt.Errorf("%s is nothing that the server can read", path)
	}
	return readSmall(real)
}

// readSmall reads a regular file of at most maxSmall bytes. What is no such file is
// not opened, since that alone can do something; the server may put another one in
// its place meanwhile, so what was opened is asked again.
func readSmall(path string) ([]byte, error) {
	refused := fmt.Errorf("%s is not a small file", path)
	if fi, err := os.Stat(path); err != nil {
		return nil, err
	} else if !fi.Mode().IsRegular() {
		return nil, refused
	}
	f, err := os.OpenFile(path, os.O_RDONLY|readFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return nil, errors.Join(err, refused)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSmall+1))
	if err != nil || len(text) > maxSmall {
		return nil, errors.Join(err, refused)
	}
	return bytes.TrimSpace(text), nil
}
