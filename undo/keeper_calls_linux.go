package undo

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// CallBegins gives each file that the server still has open for writing a record of its own in the
// call that has just begun: no supervisor sees what is written there. The record of the call has to
// be in the journal already. CallBegins does nothing unless PerCall is set.
func (k *Keeper) CallBegins() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.PerCall || k.Open == nil || len(k.pending) == 0 {
		return
	}
	k.start()
	k.mu.Unlock() // it takes a while
	open := k.Open()
	k.mu.Lock()
	for _, path := range slices.Sorted(maps.Keys(k.pending)) {
		if m := k.pending[path]; m != nil {
			k.keepOpen(path, m, open)
		}
	}
}

// keepOpen records what an earlier call has left in a file that is still open, and keeps that for
// the call that has begun.
func (k *Keeper) keepOpen(path string, m *mark, open func(inode uint64) bool) {
	fd, err := openPath(path, 0)
	switch {
	case err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP:
		return // no file of the server's has this name
	case err != nil:
		k.missing(path, "the server may have it open, and it cannot be looked at: "+err.Error())
		return
	}
	defer unix.Close(fd)
	st, err := look(fd, "")
	n := k.inodes[st.ID]
	if err != nil || st.Kind != File || n == nil || !m.isServers(&st) || !open(st.ID.Ino) {
		return // settle records what is left
	}
	if m.kept && n.kept { // the server has changed it since the call began
		return
	}
	if !m.kept {
		k.lines = (&Record{word: wordNow, At: time.Now().UnixNano(), Path: path, State: st}).append(k.lines)
	}
	k.content(fd, path, st)
}

// isCopied reports whether the open file fd has the content that was copied with a state. The times
// alone do not tell: a write through a mapping need not change them.
func (k *Keeper) isCopied(fd int, st, copied *State) bool {
	if !copied.sameObject(st) {
		return false
	}
	half := len(k.buf) / 2
	for off := int64(0); off < st.Size; {
		want := k.buf[:min(int64(half), st.Size-off)]
		got := k.buf[half : half+len(want)]
		n, err := unix.Pread(k.Data, want, copied.Data+off)
		if err != nil || n != len(want) {
			return false
		}
		if n, err = unix.Pread(fd, got, off); err != nil || n != len(got) || !bytes.Equal(want, got) {
			return false
		}
		off += int64(n)
	}
	return true
}
