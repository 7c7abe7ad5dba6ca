package store

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A seal is a text. Its head has one line for each of: the format, the tree's ID, the digest
// of the file attributes, the digest of the contents, and the number of files with their
// bytes. A line for each file follows, which only a slow check reads.
const sealFormat = "mcp-jail seal 1"

type head struct {
	id         ID
	attributes string // digest of names, modes, sizes, times and inodes
	contents   string // digest of names, modes and contents
	count      int
	bytes      int64
}

// maxHead bounds the bytes of a seal that a fast check reads.
const maxHead = 4096

// readSeal reads the head of a seal.
func readSeal(file string) (head, error) {
	f, err := os.Open(file)
	if err != nil {
		return head{}, err
	}
	defer f.Close()
	return readHead(f)
}

func readHead(f io.ReaderAt) (head, error) {
	b := make([]byte, maxHead)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return head{}, err
	}
	lines := strings.SplitN(string(b[:n]), "\n", 6)
	if len(lines) < 6 || lines[0] != sealFormat {
		return head{}, errors.New("the seal is damaged")
	}
	var h head
	id := strings.Split(lines[1], " ")
	counts := strings.Split(lines[4], " ")
	if len(id) != 4 || len(counts) != 2 {
		return head{}, errors.New("the seal is damaged")
	}
	h.id = ID{id[0], id[1], id[2], id[3]}
	h.attributes, h.contents = lines[2], lines[3]
	h.count, err = strconv.Atoi(counts[0])
	if err == nil {
		h.bytes, err = strconv.ParseInt(counts[1], 10, 64)
	}
	if err != nil || h.id.validate() != nil {
		return head{}, errors.New("the seal is damaged")
	}
	return h, nil
}

// encode returns the text of a seal.
func (h head) encode(files []file) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s %s %s %s\n%s\n%s\n%d %d\n", sealFormat, h.id.Ecosystem, h.id.Name, h.id.Version, h.id.Digest, h.attributes, h.contents, h.count, h.bytes)
	for _, f := range files {
		b.WriteString(f.line())
	}
	return []byte(b.String())
}

// file is a file, directory or link of a tree.
type file struct {
	path   string // relative
	mode   fs.FileMode
	size   int64
	digest string // of the contents, or of a link's target; "" for a directory
}

// line is the file as the contents digest and the seal have it. The permissions are reduced to
// whether the owner may execute, because that is what npm and a copy keep.
func (f file) line() string {
	kind := "file"
	switch {
	case f.mode.IsDir():
		kind = "dir"
	case f.mode&fs.ModeSymlink != 0:
		kind = "link"
	case f.mode&0o100 != 0:
		kind = "exec"
	}
	return kind + " " + f.digest + " " + strconv.Quote(f.path) + "\n"
}

// readTree reads all files of a tree, in the order of their paths. A link out of the tree is an
// error: programs that start servers, and have no jail, follow the links of a tree.
func readTree(dir string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != dir:
		case !d.IsDir(): // a script may have put a link there
			return fmt.Errorf("%s, the root of the tree, is no directory", name)
		default:
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		f := file{path: filepath.ToSlash(rel), mode: info.Mode(), size: info.Size()}
		switch {
		case f.mode.IsDir():
			f.size = 0
		case f.mode&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			if !staysInside(f.path, target) {
				return fmt.Errorf("%s is a link to %s, which is not in the tree", name, target)
			}
			f.digest = digestOf([]byte(target))
		case !f.mode.IsRegular():
			return fmt.Errorf("%s is neither a file nor a directory nor a link: packages contain no such thing", name)
		}
		files = append(files, f)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := digestFiles(dir, files); err != nil {
		return nil, err
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return files, nil
}

// staysInside reports whether the target of a link at a path of the tree is in the tree. Links on
// the way cannot lead it out: no ".." comes after a name.
func staysInside(path, target string) bool {
	if target == "" || filepath.IsAbs(target) {
		return false
	}
	up, named := 0, false
	for part := range strings.SplitSeq(filepath.ToSlash(target), "/") {
		switch part {
		case "..":
			if named {
				return false
			}
			up++
		case ".", "":
		default:
			named = true
		}
	}
	return up <= strings.Count(path, "/")
}

// digestFiles fills in the digests of regular files.
func digestFiles(dir string, files []file) error {
	next := make(chan *file)
	var mu sync.Mutex
	var failed error
	var wg sync.WaitGroup
	for range runtime.NumCPU() {
		wg.Go(func() {
			for f := range next {
				sum, err := digestFile(filepath.Join(dir, filepath.FromSlash(f.path)))
				if err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
				}
				f.digest = sum
			}
		})
	}
	for i := range files {
		if files[i].mode.IsRegular() {
			next <- &files[i]
		}
	}
	close(next)
	wg.Wait()
	return failed
}

func digestFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, bufio.NewReader(f)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// contentsDigest returns the digest of a tree's names, modes and contents.
func contentsDigest(files []file) string {
	h := sha256.New()
	for _, f := range files {
		io.WriteString(h, f.line())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// totals returns the number of files and their bytes.
func totals(files []file) (count int, bytes int64) {
	for _, f := range files {
		if !f.mode.IsDir() {
			count++
			bytes += f.size
		}
	}
	return count, bytes
}
