package undo

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// Keeper keeps what is at paths before they change. Its methods may be called by several threads. The
// two files are those of the session: other processes append to them, too.
type Keeper struct {
	Journal, Data *os.File
	SelfFD        int   // /proc/self/fd
	FileBytes     int64 // of a file; a larger one changes without a copy
	TotalBytes    int64 // of the session
	PerCall       bool  // a path is kept once in each call, and not once in the session
	// Open returns a function that reports whether the server has an inode open for writing. If that
	// cannot be told, it reports true. nil: it has none.
	Open func() func(inode uint64) bool
	// Outside runs a function on a thread that may read more than the caller's. It may be nil.
	Outside func(func())
	// Tell is called with what could not be kept, at most maxTold times. It may be nil.
	Tell func(text string)

	mu      sync.Mutex
	told    int
	marks   map[string]*mark
	names   map[uint64]map[string]bool // the paths that had an inode in this call, or have it
	touched map[string]bool            // since the begin of the call, or the end of the one before
	copies  map[[32]byte]content       // by digest
}

// mark is what is known of a path that was kept.
type mark struct {
	noted bool
	last  state // valid if noted: what stood there at the end of a call
}

type content struct{ at, size int64 }

const (
	maxTold  = 3
	minClone = 64 << 10 // from this size on, sharing the blocks with the file is tried
	block    = 4096
)

// maxJournal is how long a journal may get: its reader has it in memory.
func maxJournal(total int64) int64 { return min(64<<20, total/8) }

// enter takes the lock, and returns what lets it go.
func (k *Keeper) enter() (leave func()) {
	k.mu.Lock()
	if k.marks == nil {
		k.marks, k.names = map[string]*mark{}, map[uint64]map[string]bool{}
		k.touched, k.copies = map[string]bool{}, map[[32]byte]content{}
	}
	return k.mu.Unlock
}

func (k *Keeper) reader() reader { return reader{k.SelfFD, k.Outside} }

// Name keeps what is at a name in dir, and at the other known names of that file, before the name is
// made, removed, replaced, or its object changed. path is the path of the name. With an error, nothing
// may be changed: there is no room to keep it, or it cannot be looked at.
func (k *Keeper) Name(dir int, name, path string) error {
	defer k.enter()()
	st, err := k.name(dir, name, path)
	return k.withOthers(&st, path, err)
}

// Object is Name for an object that is held by an O_PATH descriptor. If its name is gone, path, which
// /proc has said, is none of its paths, and is not kept.
func (k *Keeper) Object(fd int, path string) error {
	defer k.enter()()
	st, err := look(fd, "")
	if err != nil {
		return err
	}
	if now, err := k.reader().at(path, -1); err == nil && now.ID != st.ID {
		st.Nlink = 2 // its other names may be known
		return k.withOthers(&st, "", nil)
	}
	st, err = k.object(fd, path)
	return k.withOthers(&st, path, err)
}

func (k *Keeper) name(dir int, name, path string) (state, error) {
	object, err := k.reader().object(dir, name)
	if err != nil {
		return state{}, err
	}
	if object < 0 {
		return state{Kind: none}, k.keep(-1, path, &state{Kind: none})
	}
	defer unix.Close(object)
	return k.object(object, path)
}

func (k *Keeper) object(fd int, path string) (state, error) {
	st, err := look(fd, "")
	if err == nil {
		err = k.keep(fd, path, &st)
	}
	return st, err
}

// withOthers keeps a file, that was kept at a path, at the other known paths too.
func (k *Keeper) withOthers(st *state, path string, err error) error {
	if st.Kind == file && st.Nlink > 1 {
		for other := range k.names[st.ID.Ino] {
			if err == nil && other != path && !k.touched[other] {
				err = k.byPath(other)
			}
		}
	}
	return err
}

// byPath keeps what is at a path that was kept before.
func (k *Keeper) byPath(path string) error {
	dir, name, err := openParent(path)
	switch {
	case isMissing(err):
		return nil
	case err == nil:
		defer unix.Close(dir)
		_, err = k.name(dir, name, path)
	}
	return err
}

// Made says that an object, which is open, has been made at a path or has moved there.
func (k *Keeper) Made(fd int, path string) {
	defer k.enter()()
	if st, err := look(fd, ""); err == nil {
		k.addName(&st, path)
	}
}

func (k *Keeper) addName(st *state, path string) {
	if st.Kind != file {
		return
	}
	if k.names[st.ID.Ino] == nil {
		k.names[st.ID.Ino] = map[string]bool{}
	}
	k.names[st.ID.Ino][path] = true
}

// dropNames drops the paths of inodes that have others now: the next file may get the number of one that is gone.
func (k *Keeper) dropNames() {
	for inode, names := range k.names {
		maps.DeleteFunc(names, func(path string, _ bool) bool {
			m := k.marks[path]
			return m != nil && m.noted && (m.last.Kind != file || m.last.ID.Ino != inode)
		})
		if len(names) == 0 {
			delete(k.names, inode)
		}
	}
}

// keep records a state, unless the path was touched before in this call. In a session, a path that
// stands as it was noted at the end of a call has a copy already.
func (k *Keeper) keep(object int, path string, st *state) error {
	k.addName(st, path)
	if k.touched[path] {
		return nil
	}
	m := k.marks[path]
	r := record{Path: []byte(path), Was: st}
	unlock, err := lockFile(k.Journal)
	if err != nil {
		return err
	}
	defer unlock()
	if m != nil && m.noted && !k.PerCall && m.last.Kind == st.Kind && (st.Kind == none || m.last.sameObject(st)) {
		r.Was, r.Again = nil, true
	} else {
		err = k.content(object, st)
	}
	if err == nil {
		err = addLocked(k.Journal, maxJournal(k.TotalBytes)/2, &r)
	}
	if isRoom(err) {
		k.tell(strconv.Quote(path) + " was not changed: what is there cannot be stored, because there is no room (undo_total_mb, limits.file_size_mb, or the disk)")
		err = unix.ENOSPC
	}
	if err != nil {
		return err
	}
	moment()
	if m == nil {
		k.marks[path] = &mark{}
	} else {
		m.noted = false
	}
	k.touched[path] = true
	return nil
}

func isRoom(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}

func (k *Keeper) tell(text string) {
	if k.told++; k.told <= maxTold && k.Tell != nil {
		k.Tell(text)
	}
}

// content adds to a state what only an open object shows: its content, which it copies, and whether it
// has an access list.
func (k *Keeper) content(object int, st *state) error {
	if st.Kind != file && st.Kind != Dir {
		return nil
	}
	from, err := k.reader().open(object, st)
	if err != nil {
		st.ACL, st.Lost = true, "it could not be read: "+err.Error()
		return nil
	}
	defer from.Close()
	st.ACL = hasACL(from)
	switch {
	case st.Kind == Dir:
		return nil
	case st.Size > k.FileBytes:
		st.Lost = fmt.Sprintf("it had more than %d MB, and was changed without a copy", k.FileBytes>>20)
		return nil
	}
	return k.copy(from, st)
}

// copy appends the content of an open file to the data file. The same content is kept once.
func (k *Keeper) copy(from *os.File, st *state) error {
	end, err := sizeOf(k.Data)
	journal, err2 := sizeOf(k.Journal)
	if err = errors.Join(err, err2); err != nil {
		return err
	}
	at := end
	if st.Size >= minClone {
		at = (at + block - 1) / block * block
	}
	if journal+at+st.Size > k.TotalBytes-maxJournal(k.TotalBytes)/2 {
		return unix.ENOSPC
	}
	sum, size, err := copyContent(k.Data, at, from, st.Size)
	if err != nil {
		k.Data.Truncate(end)
		if isRoom(err) {
			return err
		}
		st.Lost = "it could not be copied: " + err.Error()
		return nil
	}
	moment()
	if known, ok := k.copies[sum]; ok && known.size == size {
		k.Data.Truncate(end)
		at = known.at
	}
	k.copies[sum] = content{at, size}
	st.Kept, st.Data, st.Size, st.Sum = true, at, size, sum[:]
	return nil
}

// copyContent copies a file to a place in the data file, and returns the digest of what is there then.
func copyContent(data *os.File, at int64, from *os.File, size int64) (sum [32]byte, n int64, err error) {
	h := sha256.New()
	// The length is given, because the server may make the file longer meanwhile.
	clone := unix.FileCloneRange{Src_fd: int64(from.Fd()), Src_length: uint64(size), Dest_offset: uint64(at)}
	if size >= minClone && unix.IoctlFileCloneRange(int(data.Fd()), &clone) == nil {
		n, err = io.Copy(h, io.NewSectionReader(data, at, size))
	} else {
		n, err = io.Copy(io.MultiWriter(h, io.NewOffsetWriter(data, at)), io.LimitReader(from, size))
	}
	return [32]byte(h.Sum(nil)), n, err
}

// CallBegins says that a call has begun, and no other one runs. What the server has open for writing is
// kept: no supervisor sees what is written there.
func (k *Keeper) CallBegins() {
	defer k.enter()()
	clear(k.touched)
	for _, path := range k.open() {
		if err := k.byPath(path); err != nil {
			k.tell(strconv.Quote(path) + ": the server has it open, and it could not be stored anew: " + err.Error())
		}
	}
}

// CallEnds notes what stands at the paths that were touched in the call. A file that the server held open when the call
// began is one of them.
func (k *Keeper) CallEnds() {
	defer k.enter()()
	if len(k.touched) > 0 {
		k.note(slices.Sorted(maps.Keys(k.touched)))
		k.dropNames()
		clear(k.touched)
	}
}

// open returns the kept paths of files that the server has open for writing.
func (k *Keeper) open() (paths []string) {
	if k.Open == nil || len(k.names) == 0 {
		return nil
	}
	isOpen := k.Open()
	for inode, names := range k.names {
		if isOpen(inode) {
			paths = slices.AppendSeq(paths, maps.Keys(names))
		}
	}
	slices.Sort(paths)
	return slices.DeleteFunc(slices.Compact(paths), func(p string) bool { return k.marks[p] == nil })
}

// note records what stands at paths.
func (k *Keeper) note(paths []string) {
	for _, path := range paths {
		m := k.marks[path]
		st, err := k.reader().at(path, k.FileBytes)
		if err != nil || m == nil {
			continue // it is not known
		}
		k.addName(&st, path)
		if err := add(k.Journal, maxJournal(k.TotalBytes), &record{Path: []byte(path), Now: &st}); err != nil {
			k.tell("what the server left could not be noted: " + err.Error())
			continue
		}
		m.last, m.noted = st, true
		moment()
	}
}

// lockFile keeps the other processes of the session from appending.
func lockFile(f *os.File) (unlock func(), err error) {
	fd := int(f.Fd())
	for {
		if err = unix.Flock(fd, unix.LOCK_EX); err != unix.EINTR {
			return func() { unix.Flock(fd, unix.LOCK_UN) }, err
		}
	}
}

func sizeOf(f *os.File) (int64, error) { return f.Seek(0, io.SeekEnd) }

// add appends a record to a journal, which may get most bytes long.
func add(journal *os.File, most int64, r *record) error {
	unlock, err := lockFile(journal)
	if err != nil {
		return err
	}
	defer unlock()
	return addLocked(journal, most, r)
}

// addLocked is add for a journal that is locked. The whole line is written, or nothing. After a process that
// was killed in a write, a newline comes first.
func addLocked(journal *os.File, most int64, r *record) error {
	line := r.line()
	size, err := sizeOf(journal)
	if err != nil {
		return err
	}
	if size+int64(len(line)) > most {
		return unix.ENOSPC
	}
	var last [1]byte
	if n, _ := journal.ReadAt(last[:], size-1); n == 1 && last[0] != '\n' {
		line = append([]byte{'\n'}, line...)
	}
	if _, err = journal.Write(line); err != nil {
		journal.Truncate(size)
	}
	return err
}

// moment is called between two steps that a kill can part. Tests set it.
var moment = func() {}
