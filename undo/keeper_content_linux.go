package undo

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// block is the size to which large contents are aligned, so that a filesystem can share them.
const block = 4096

// minClone is the size from which sharing is tried: for a smaller file a copy takes less time.
const minClone = 64 << 10

// copy copies the content of the open file fd to the end of the data file. It returns the place of
// the copy, or NoData and the reason. A content that was copied before is not copied again.
func (k *Keeper) copy(fd int, st, copied *State) (at int64, lost string) {
	if st.Size > k.FileBytes {
		return NoData, fmt.Sprintf("it has %d KB, and at most %d are kept of a file (undo_file_mb = %d)", (st.Size+1023)>>10, k.FileBytes>>10, k.FileBytes>>20)
	}
	lock := k.unlock(fd, 0o400)
	from, err := k.open(func() (int, error) {
		const flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC
		from, err := unix.Openat(k.SelfFD, strconv.Itoa(fd), flags|unix.O_NOATIME, 0)
		if err == unix.EPERM { // another user's file
			from, err = unix.Openat(k.SelfFD, strconv.Itoa(fd), flags, 0)
		}
		return from, err
	})
	lock()
	if err != nil {
		return NoData, "it cannot be read: " + err.Error()
	}
	defer unix.Close(from)
	st.Masked = maskedBy(from)
	if k.isCopied(from, st, copied) {
		return copied.Data, ""
	}
	if left := k.TotalBytes - k.journalBytes() - k.size - block; st.Size > left {
		return NoData, fmt.Sprintf("it has %d KB, and this session may keep %d KB more (undo_total_mb, limits.file_size_mb)", (st.Size+1023)>>10, max(left, 0)>>10)
	}
	at = k.size
	if st.Size >= minClone {
		at = (at + block - 1) / block * block
	}
	if err := k.copyRange(from, at, st); err != nil {
		unix.Ftruncate(k.Data, k.size) // else this content would show in the holes of the next file
		return NoData, "it cannot be copied: " + err.Error()
	}
	k.size = at + st.Size
	return at, ""
}

// copyRange copies a file to a place of the data file. Holes stay holes.
func (k *Keeper) copyRange(from int, at int64, st *State) error {
	if st.Size >= minClone {
		clone := unix.FileCloneRange{Src_fd: int64(from), Dest_offset: uint64(at)} // a length of 0 is the whole file
		if unix.IoctlFileCloneRange(k.Data, &clone) == nil {
			return nil
		}
	}
	for off := int64(0); off < st.Size; {
		if st.Size >= minClone {
			next, err := unix.Seek(from, off, unix.SEEK_DATA)
			if err == unix.ENXIO || err == nil && next >= st.Size { // a hole up to the end, which may grow
				break
			}
			if err == nil {
				off = next
			}
		}
		n, err := unix.Pread(from, k.buf[:min(int64(len(k.buf)), st.Size-off)], off)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return err
		case n == 0: // another process has made it shorter meanwhile
			st.Size = off
			return nil
		}
		if err := writeAt(k.Data, k.buf[:n], at+off); err != nil {
			return err
		}
		off += int64(n)
	}
	if st.Size >= minClone { // a hole at the end
		var data unix.Stat_t
		if err := unix.Fstat(k.Data, &data); err == nil && data.Size < at+st.Size {
			return unix.Ftruncate(k.Data, at+st.Size)
		}
	}
	return nil
}

func writeAt(fd int, b []byte, at int64) error {
	for len(b) > 0 {
		n, err := unix.Pwrite(fd, b, at)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return err
		case n == 0:
			return unix.EIO
		default:
			b, at = b[n:], at+int64(n)
		}
	}
	return nil
}
