package keeper

import (
	"fmt"
	"strconv"

	"github.com/mcp-jail/mcp-jail/undo/internal/object"
	"golang.org/x/sys/unix"
)

// copy copies the content of the open file fd to the end of the data file. It returns the place of
// the copy, or NoData and the reason. A content that was copied before is not copied again.
func (k *Keeper) copy(fd int, st, copied *object.State) (at int64, lost string) {
	if st.Size > k.FileBytes {
		return object.NoData, fmt.Sprintf("it has %d KB, and at most %d are kept of a file", (st.Size+1023)>>10, k.FileBytes>>10)
	}
	lock := k.opener.unlock(fd, 0o400)
	from, err := k.opener.open(func() (int, error) {
		const flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC
		from, err := unix.Openat(k.SelfFD, strconv.Itoa(fd), flags|unix.O_NOATIME, 0)
		if err == unix.EPERM { // another user's file
			from, err = unix.Openat(k.SelfFD, strconv.Itoa(fd), flags, 0)
		}
		return from, err
	})
	lock()
	if err != nil {
		return object.NoData, "it cannot be read: " + err.Error()
	}
	defer unix.Close(from)
	st.Masked = object.MaskedBy(from)
	if k.isCopied(from, st, copied) {
		return copied.Data, ""
	}
	// The journal's share is left free: without records, contents are useless.
	if left := k.TotalBytes - k.journalBytes() - k.size - object.Block; st.Size > left {
		return object.NoData, fmt.Sprintf("it has %d KB, and this session may keep %d KB more (undo_total_mb, limits.file_size_mb)", (st.Size+1023)>>10, max(left, 0)>>10)
	}
	at = k.size
	if st.Size >= object.MinClone {
		at = (at + object.Block - 1) / object.Block * object.Block
	}
	if err := k.copyRange(from, at, st); err != nil {
		unix.Ftruncate(k.Data, k.size) // else this content would show in the holes of the next file
		return object.NoData, "it cannot be copied: " + err.Error()
	}
	k.size = at + st.Size
	return at, ""
}

func (k *Keeper) copyRange(from int, at int64, st *object.State) error {
	if st.Size >= object.MinClone {
		clone := unix.FileCloneRange{Src_fd: int64(from), Dest_offset: uint64(at)} // a length of 0 is the whole file
		if unix.IoctlFileCloneRange(k.Data, &clone) == nil {
			return nil
		}
	}
	n, err := object.CopyContent(k.Data, at, from, 0, st.Size, k.buf)
	if err != nil {
		return err
	}
	st.Size = n                     // another process may have made it shorter meanwhile
	if st.Size >= object.MinClone { // a hole at the end
		var data unix.Stat_t
		if err := unix.Fstat(k.Data, &data); err == nil && data.Size < at+st.Size {
			return unix.Ftruncate(k.Data, at+st.Size)
		}
	}
	return nil
}
