package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// chunkBytes is about how many bytes of a seal one digest covers.
const chunkBytes = 32 << 10

// attributesDigest returns the digest of the mode, size, times, inode and owner of all files that
// the lines of a seal name in a tree, and of its root. It opens no file and lists no directory: a
// name that was added or removed changes the times of its directory.
func attributesDigest(tree *os.Root, lines []byte) (string, error) {
	dir, err := tree.Open(".")
	if err != nil {
		return "", err
	}
	defer dir.Close()
	root := int(dir.Fd())
	all := sha256.New()
	var st unix.Stat_t
	if err := unix.Fstat(root, &st); err != nil {
		return "", &os.PathError{Op: "stat", Path: dir.Name(), Err: err}
	}
	all.Write(appendAttributes(nil, &st))
	chunks := cutLines(lines, chunkBytes)
	sums := make([][sha256.Size]byte, len(chunks))
	errs := make([]error, len(chunks))
	var next atomic.Int64
	var wg sync.WaitGroup
	// The calls wait for the filesystem, so several threads ask at once; the sums keep their order.
	for range runtime.NumCPU() {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(chunks)); i = next.Add(1) - 1 {
				sums[i], errs[i] = chunkDigest(root, chunks[i])
			}
		})
	}
	wg.Wait()
	for i := range chunks {
		all.Write(sums[i][:])
	}
	return hex.EncodeToString(all.Sum(nil)), errors.Join(errs...)
}

// cutLines cuts a text after the line ends that follow each size bytes.
func cutLines(text []byte, size int) (chunks [][]byte) {
	for len(text) > size {
		end := bytes.IndexByte(text[size:], '\n')
		if end < 0 {
			break
		}
		chunks = append(chunks, text[:size+end+1])
		text = text[size+end+1:]
	}
	return append(chunks, text)
}

func chunkDigest(root int, lines []byte) (out [sha256.Size]byte, err error) {
	h := sha256.New()
	var st unix.Stat_t
	var attributes []byte
	for len(lines) > 0 {
		end := bytes.IndexByte(lines, '\n')
		quote := bytes.IndexByte(lines, '"')
		if quote < 0 || quote+2 > end || lines[end-1] != '"' {
			return out, errSeal
		}
		quoted := lines[quote:end]
		// Nearly all names have no escape, and are used in place: a tree may have ten thousand.
		path := unsafe.String(unsafe.SliceData(quoted[1:]), len(quoted)-2)
		if bytes.IndexByte(quoted, '\\') >= 0 {
			if path, err = strconv.Unquote(string(quoted)); err != nil {
				return out, errSeal
			}
		}
		if err := unix.Fstatat(root, path, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return out, &os.PathError{Op: "stat", Path: string(quoted), Err: err}
		}
		attributes = appendAttributes(attributes[:0], &st)
		h.Write(lines[:end])
		h.Write(attributes)
		lines = lines[end+1:]
	}
	h.Sum(out[:0])
	return out, nil
}

// appendAttributes appends the attributes that a change of a file alters. The time of the last
// access is not one of them.
func appendAttributes(b []byte, st *unix.Stat_t) []byte {
	for _, v := range [...]uint64{uint64(st.Mode), uint64(st.Size), uint64(st.Mtim.Nano()), uint64(st.Ctim.Nano()), st.Ino, uint64(st.Uid)} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}
