package store

import (
	"bufio"
	"bytes"
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
// bytes. A line for each file follows.
const sealFormat = "mcp-jail seal 1"

var errSeal = errors.New("the seal is damaged")

type head struct {
	id         ID
	attributes string // see attributesDigest; "" if it is not known
	contents   string // digest of names, kinds and contents: see file.line
	count      int
	bytes      int64
}

// maxHead bounds the bytes of a head.
const maxHead = 4096

// headLines is the number of lines of a head.
const headLines = 5

func readHead(f io.ReaderAt) (head, error) {
	b := make([]byte, maxHead)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return head{}, err
	}
	return parseHead(b[:n])
}

func parseHead(b []byte) (head, error) {
	lines := strings.SplitN(string(b[:min(len(b), maxHead)]), "\n", headLines+1)
	if len(lines) <= headLines || lines[0] != sealFormat {
		return head{}, errSeal
	}
	var h head
	id := strings.Split(lines[1], " ")
	counts := strings.Split(lines[4], " ")
	if len(id) != 4 || len(counts) != 2 {
		return head{}, errSeal
	}
	h.id = ID{id[0], id[1], id[2], id[3]}
	h.attributes, h.contents = lines[2], lines[3]
	var err error
	h.count, err = strconv.Atoi(counts[0])
	if err == nil {
		h.bytes, err = strconv.ParseInt(counts[1], 10, 64)
	}
	if err != nil || h.id.validate() != nil {
		return head{}, errSeal
	}
	return h, nil
}

func sealLines(seal []byte) []byte {
	for range headLines {
		_, seal, _ = bytes.Cut(seal, []byte("\n"))
	}
	return seal
}

func (h head) encode() []byte {
	return fmt.Appendf(nil, "%s\n%s %s %s %s\n%s\n%s\n%d %d\n", sealFormat, h.id.Ecosystem, h.id.Name, h.id.Version, h.id.Digest, h.attributes, h.contents, h.count, h.bytes)
}

func fileLines(files []file) []byte {
	var b bytes.Buffer
	for _, f := range files {
		b.WriteString(f.line())
	}
	return b.Bytes()
}

// file is a file, directory or link of a tree.
type file struct {
	path   string // relative
	mode   fs.FileMode
	size   int64
	digest string // of the contents, or of a link's target; "" for a directory
}

// line returns the line for the file in a seal, which the digest of the contents covers. Of the
// permissions, it says only whether the owner may execute the file: npm and a copy keep only that.
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
func readTree(root *os.Root) ([]file, error) {
	var files []file
	err := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f := file{path: name, mode: info.Mode(), size: info.Size()}
		switch {
		case f.mode.IsDir():
			// Filesystems disagree about the size of a directory.
			f.size = 0
		case f.mode&fs.ModeSymlink != 0:
			target, err := root.Readlink(filepath.FromSlash(name))
			if err != nil {
				return err
			}
			if !staysInside(f.path, target) {
				return fmt.Errorf("%s is a link to %s, which is not in the tree", name, target)
			}
			// A link is sealed by where it points, and is not followed.
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
	if err := digestFiles(root, files); err != nil {
		return nil, err
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return files, nil
}

// staysInside reports whether the target of a link at a path of the tree is in the tree. Links on
// the way cannot lead it out: no ".." comes after a name.
func staysInside(path, target string) bool {
	if target == "" || filepath.IsAbs(target) || filepath.VolumeName(target) != "" || os.IsPathSeparator(target[0]) { // \x and C:x are whole on Windows
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

func digestFiles(root *os.Root, files []file) error {
	next := make(chan *file)
	var mu sync.Mutex
	var failed error
	var wg sync.WaitGroup
	for range runtime.NumCPU() {
		wg.Go(func() {
			for f := range next {
				sum, err := digestFile(root, filepath.FromSlash(f.path))
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

func digestFile(root *os.Root, name string) (string, error) {
	f, err := root.Open(name)
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

func totals(files []file) (count int, bytes int64) {
	for _, f := range files {
		if !f.mode.IsDir() {
			count++
			bytes += f.size
		}
	}
	return count, bytes
}

// ChangedError reports a tree whose files are not those that were installed.
type ChangedError struct {
	ID                      ID
	Dir                     string
	Added, Removed, Changed []string // relative paths, sorted
}

// maxNamed bounds the paths of each kind that an error names.
const maxNamed = 3

func (e *ChangedError) Error() string {
	var parts []string
	add := func(what string, names []string) {
		if len(names) == 0 {
			return
		}
		text := strings.Join(names[:min(len(names), maxNamed)], ", ")
		if more := len(names) - maxNamed; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		parts = append(parts, what+" "+text)
	}
	add("changed:", e.Changed)
	add("added:", e.Added)
	add("removed:", e.Removed)
	if parts == nil {
		parts = append(parts, "the pin names other files")
	}
	return fmt.Sprintf("the installed files of %s are not those that were pinned (%s), below %s", e.ID, strings.Join(parts, "; "), e.Dir)
}

// maxSeal bounds the bytes of a seal: a million files.
const maxSeal = 256 << 20

// Check returns nil if the files of the tree have the digest contents, which Stage.Seal has
// computed, and a *ChangedError if they do not. It usually reads no file of the tree.
func (t *Tree) Check(contents string) error {
	seal, err := readAll(t.seal)
	var h head
	if err == nil {
		h, err = parseHead(seal)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: `mcp-jail install` installs the pinned version again", t.seal.Name(), err)
	}
	if h.contents == contents {
		if now, err := attributesDigest(t.tree.Root(), sealLines(seal)); err == nil && now != "" && now == h.attributes {
			return nil
		}
	}
	return t.checkContents(h, contents)
}

func readAll(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b := make([]byte, min(info.Size(), maxSeal))
	n, err := f.ReadAt(b, 0)
	if err == io.EOF {
		err = nil
	}
	return b[:n], err
}

// checkContents reads all files. If they are the pinned ones, it seals them anew, so that the next
// check is fast.
func (t *Tree) checkContents(h head, contents string) error {
	now, err := readTree(t.tree.Root())
	if err != nil {
		return err
	}
	lines := fileLines(now)
	// The pin decides, not the seal: who can write the tree can write the seal beside it.
	if digestOf(lines) != contents {
		return t.changed(now)
	}
	attributes, err := attributesDigest(t.tree.Root(), lines)
	// The contents are the pinned ones, so other times are those of a copy or a backup.
	if err == nil && (attributes != h.attributes || contents != h.contents) {
		h.attributes, h.contents = attributes, contents
		h.count, h.bytes = totals(now)
		writeSeal(t.place, h, lines) // a store that cannot be written is checked slowly each time
	}
	return nil
}

func (t *Tree) changed(now []file) error {
	e := &ChangedError{ID: t.ID, Dir: t.Dir}
	text, err := readAll(t.seal)
	if err != nil {
		return err
	}
	before := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if at := strings.Index(line, ` "`); at > 0 {
			if name, err := strconv.Unquote(strings.TrimSuffix(line[at+1:], "\n")); err == nil {
				before[name] = line
			}
		}
	}
	for _, f := range now {
		was, known := before[f.path]
		switch {
		case !known:
			e.Added = append(e.Added, f.path)
		case was != f.line():
			e.Changed = append(e.Changed, f.path)
		}
		delete(before, f.path)
	}
	for name := range before {
		e.Removed = append(e.Removed, name)
	}
	sortAll(e.Removed)
	return e
}
