package store

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// attributesDigest returns the digest of the name, mode, size, times and inode of everything
// in a tree. It lists the directories and opens no file. The directories at the second level,
// which are mostly packages, are walked by as many threads as there are processors.
func attributesDigest(dir string) (string, error) {
	var jobs []string
	for _, parent := range []string{"", "node_modules"} {
		entries, err := os.ReadDir(filepath.Join(dir, parent))
		if err != nil && parent == "" {
			return "", err
		}
		for _, e := range entries {
			if name := filepath.Join(parent, e.Name()); name != "node_modules" {
				jobs = append(jobs, name)
			}
		}
	}
	slices.Sort(jobs)
	sums := make([][sha256.Size]byte, len(jobs))
	errs := make([]error, len(jobs))
	var next counter
	var wg sync.WaitGroup
	for range runtime.NumCPU() {
		wg.Go(func() {
			w := attributeWalk{names: make([]byte, 32<<10)}
			for i := next.take(); i < len(jobs); i = next.take() {
				sums[i], errs[i] = w.sum(filepath.Join(dir, jobs[i]))
			}
		})
	}
	wg.Wait()
	all := sha256.New()
	for i, job := range jobs {
		if errs[i] != nil {
			return "", errs[i]
		}
		all.Write([]byte(job + "\x00"))
		all.Write(sums[i][:])
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}

// counter hands out the numbers from 0.
type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) take() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return c.n - 1
}

// attributeWalk has the buffers of one thread.
type attributeWalk struct {
	names []byte
	line  []byte
	hash  hash.Hash
}

// sum returns the digest of one file or directory with everything below it.
func (w *attributeWalk) sum(name string) (out [sha256.Size]byte, err error) {
	w.hash = sha256.New()
	if err = w.add(unix.AT_FDCWD, name, ""); err == nil {
		w.hash.Sum(out[:0])
	}
	return out, err
}

// add adds name, in the directory fd, under the path that it has in the tree.
func (w *attributeWalk) add(fd int, name, path string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &os.PathError{Op: "stat", Path: path, Err: err}
	}
	w.line = append(append(w.line[:0], path...), 0)
	for _, v := range [...]uint64{uint64(st.Mode), uint64(st.Size), uint64(st.Mtim.Nano()), uint64(st.Ctim.Nano()), st.Ino, uint64(st.Uid)} {
		w.line = binary.LittleEndian.AppendUint64(w.line, v)
	}
	w.hash.Write(w.line)
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil
	}
	dir, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(dir)
	names, err := w.list(dir)
	if err != nil {
		return &os.PathError{Op: "getdents", Path: path, Err: err}
	}
	for _, n := range names {
		if err := w.add(dir, n, path+"/"+n); err != nil {
			return err
		}
	}
	return nil
}

// list returns the names in a directory, sorted.
func (w *attributeWalk) list(dir int) (names []string, err error) {
	for {
		n, err := unix.Getdents(dir, w.names)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			slices.Sort(names)
			return names, nil
		}
		_, _, names = unix.ParseDirent(w.names[:n], -1, names)
	}
}
