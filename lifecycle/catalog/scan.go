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
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// maxScanFiles bounds the files that are looked at for a fingerprint.
const maxScanFiles = 4096

// maxScanTime bounds the time for a fingerprint on slow filesystems, since the client
// waits for its first answer. It does not bound a single call that never returns.
const maxScanTime = 3 * time.Second

// maxDirNames bounds the names that are read from one directory.
const maxDirNames = 1 << 16

// scanner digests files by what stat returns.
type scanner struct {
	profile  *policy.Profile
	sum      hash.Hash
	budget   int // files that may still be looked at
	deadline time.Time
	seen     map[string]bool
	err      error // the first reason for which there is no fingerprint
}

func newScanner(p *policy.Profile) *scanner {
	return &scanner{profile: p, sum: sha256.New(), budget: maxScanFiles, deadline: time.Now().Add(maxScanTime), seen: map[string]bool{}}
}

func (s *scanner) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("%w: "+format, append([]any{ErrNotCacheable}, args...)...)
	}
}

// digest adds one fact about a path. A length precedes each field.
func (s *scanner) digest(what, path string, values ...int64) {
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

func (s *scanner) firstTime(what, path string) bool {
	if s.err != nil || s.seen[what+path] {
		return false
	}
	s.seen[what+path] = true
	return true
}

func (s *scanner) checkBudget() bool {
	if s.budget--; s.budget < 0 {
		s.fail("it has more than %d files", maxScanFiles)
	}
	if time.Now().After(s.deadline) {
		s.fail("a scan of its files takes longer than %s", maxScanTime)
	}
	return s.err == nil
}

// lstat looks at a path without following links. ok is false if there is nothing, or after
// a failure.
func (s *scanner) lstat(path string) (os.FileInfo, bool) {
	if !s.checkBudget() {
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

func (s *scanner) addFile(path string) (os.FileInfo, bool) {
	fi, ok := s.lstat(path)
	if !ok {
		s.digest("absent", path)
		return nil, false
	}
	return s.addStat(path, fi)
}

func (s *scanner) addStat(path string, fi os.FileInfo) (os.FileInfo, bool) {
	values, known := stamp(fi)
	if !known {
		s.fail("this system does not tell whether a file has changed")
		return nil, false
	}
	if fi.IsDir() {
		values = []int64{values[0], values[2], values[3]} // the times of a directory also change with files that do not count
	}
	s.digest("file", path, values...)
	if fi.Mode()&fs.ModeSymlink == 0 {
		return fi, true
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		s.digest("dangling", path)
		return nil, false
	}
	s.digest("link", real)
	return s.addFile(real)
}

// resolve returns where a path leads. The server chooses links: if it may not read the
// target, the target is not part of the server, and ok is false.
func (s *scanner) resolve(path string) (real string, ok bool) {
	real, err := filepath.EvalSymlinks(path)
	return real, err == nil && (real == path || s.mayRead(real))
}

func (s *scanner) mayRead(real string) bool { return s.profile.RightsAt(real).Has(policy.Read) }

// readDir returns the names in a directory, sorted, or nothing if there is no directory.
// The server may have put something else there, such as a fifo, which must not block.
func (s *scanner) readDir(dir string) []string {
	if s.err != nil {
		return nil
	}
	real, ok := s.resolve(dir)
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
	names, err := f.Readdirnames(maxDirNames)
	if err != nil && len(names) == 0 {
		return nil // the directory is empty
	}
	if len(names) == maxDirNames {
		s.fail("%s has more than %d files", dir, maxDirNames)
	}
	slices.Sort(names)
	return names
}

// skippedDirs are directories that programs write beside their code.
var skippedDirs = []string{".git", ".hg", ".svn", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".cache"}

// addTree digests the files of a package, without the packages that it imports:
// addNodeModules and addPythonEnv digest those.
func (s *scanner) addTree(dir string) {
	if !s.firstTime("tree", dir) {
		return
	}
	s.digest("tree", dir)
	for _, name := range s.readDir(dir) {
		path := filepath.Join(dir, name)
		switch {
		case slices.Contains(skippedDirs, name):
			continue
		case name == "node_modules":
			s.addNodeModules(path)
			continue
		}
		fi, ok := s.lstat(path)
		switch {
		case !ok:
		case !fi.IsDir():
			s.addStat(path, fi)
		case exists(filepath.Join(path, "pyvenv.cfg")):
			s.addPythonEnv(path)
		default:
			s.addTree(path)
		}
	}
}

// lockFiles are the files that package managers rewrite when they change a node_modules.
var lockFiles = []string{".package-lock.json", ".yarn-integrity", ".yarn-state.yml", ".pnpm/lock.yaml"}

func (s *scanner) addEntries(dir string) {
	if !s.firstTime("list", dir) {
		return
	}
	s.digest("list", dir)
	for _, name := range s.readDir(dir) {
		if !slices.Contains(skippedDirs, name) {
			s.addFile(filepath.Join(dir, name))
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// maxSmallFile bounds the files whose content is read.
const maxSmallFile = 64 << 10

func (s *scanner) readFile(path string) ([]byte, error) {
	real, ok := s.resolve(path)
	if !ok {
		return nil, fmt.Errorf("the server cannot read %s", path)
	}
	return readSmall(real)
}

// readSmall reads a regular file of at most maxSmallFile bytes. It does not open other
// files, since opening alone can have effects. The server may replace the file meanwhile,
// so readSmall looks again at what it has opened.
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
	text, err := io.ReadAll(io.LimitReader(f, maxSmallFile+1))
	if err != nil || len(text) > maxSmallFile {
		return nil, errors.Join(err, refused)
	}
	return bytes.TrimSpace(text), nil
}
