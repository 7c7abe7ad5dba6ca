package object

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// Block is the size to which large contents are aligned, so that a filesystem can share them.
const Block = 4096

// MinClone is the size from which sharing is tried: for a smaller file a copy takes less time.
const MinClone = 64 << 10

// CopyContent copies size bytes of a file to a place in another file, through buf. Holes of a large
// content stay holes, and chunk at the end may be missing. It returns how many bytes there are: fewer
// than size if the file is shorter.
func CopyContent(to int, toAt int64, from int, fromAt, size int64, buf []byte) (int64, error) {
	for off := int64(0); off < size; {
		if size >= MinClone {
			next, err := unix.Seek(from, fromAt+off, unix.SEEK_DATA)
			if err == unix.ENXIO || err == nil && next >= fromAt+size { // a hole up to the end, which may grow
				break
			}
			if err == nil {
				off = next - fromAt
			}
		}
		n, err := unix.Pread(from, buf[:min(int64(len(buf)), size-off)], fromAt+off)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return off, err
		case n == 0:
			return off, nil
		}
		if err := writeAt(to, buf[:n], toAt+off); err != nil {
			return off, err
		}
		off += int64(n)
	}
	return size, nil
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

// EqualContent reports whether other files have the same size bytes at other places. It reads them into
// buf.
func EqualContent(a int, aAt int64, b int, bAt, size int64, buf []byte) bool {
	half := len(buf) / 2
	for off := int64(0); off < size; {
		chunk := buf[:min(int64(half), size-off)]
		n, err := unix.Pread(a, chunk, aAt+off)
		if err != nil || n <= 0 {
			return false
		}
		other := buf[half : half+n]
		if m, err := unix.Pread(b, other, bAt+off); err != nil || m != n || !bytes.Equal(chunk[:n], other) {
			return false
		}
		off += int64(n)
	}
	return true
}

const ListOfAccess = "system.posix_acl_access"

// MaskedBy returns the State.Masked of an open object.
func MaskedBy(fd int) uint32 {
	var list [64 << 10]byte
	n, err := unix.Fgetxattr(fd, ListOfAccess, list[:])
	if err != nil {
		return 0
	}
	return maskedByList(list[:n])
}

// maskedByList returns the State.Masked of an access list, as the kernel writes it: a version, and
// then entries of a tag, rights and an ID.
func maskedByList(list []byte) (masked uint32) {
	const group, mask = 4, 16
	found := false
	for e := list[min(4, len(list)):]; len(e) >= 8; e = e[8:] {
		switch rights := uint32(binary.LittleEndian.Uint16(e[2:])); binary.LittleEndian.Uint16(e) {
		case group:
			masked = hasList | rights&0o7
		case mask:
			found = true
		}
	}
	if !found {
		return 0
	}
	return masked
}

// ModeFor returns the mode that an object is to get to which a name in /proc/self/fd leads.
func (s *State) ModeFor(name string) uint32 {
	if n, err := unix.Getxattr(name, ListOfAccess, nil); err == nil && n > 0 {
		return s.Mode
	}
	return s.modeAlone()
}

// DropAccessLists removes the access lists of an object. A new one has those that its directory
// gives, and a server may have chosen these.
func DropAccessLists(name string) {
	unix.Removexattr(name, ListOfAccess)
	unix.Removexattr(name, "system.posix_acl_default")
}
