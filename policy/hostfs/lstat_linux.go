package hostfs

import (
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/policy"
)

// statx(2) is not in package syscall; it is the only call that tells when a
// file was born, which makes a FileID unique where inode numbers are reused.
// (0 where the number is not known)
func statxNumber() uintptr {
	switch runtime.GOARCH {
	case "amd64":
		return 332
	case "386", "ppc64le":
		return 383
	case "arm64", "riscv64", "loong64":
		return 291
	case "arm":
		return 397
	case "s390x":
		return 379
	}
	return 0
}

const (
	atFdcwd           = -100
	atSymlinkNofollow = 0x100
	statxBasicStats   = 0x7ff
	statxBtime        = 0x800
)

type statxTimestamp struct {
	Sec  int64
	Nsec uint32
	_    int32
}

// statxResult is struct statx of the kernel up to the device numbers.
type statxResult struct {
	Mask, Blksize                  uint32
	Attributes                     uint64
	Nlink, UID, GID                uint32
	Mode                           uint16
	_                              uint16
	Ino, Size, Blocks, AttributesM uint64
	Atime, Btime, Ctime, Mtime     statxTimestamp
	RdevMajor, RdevMinor           uint32
	DevMajor, DevMinor             uint32
	_                              [14]uint64
}

func lstat(path string) (FileInfo, error) {
	if statxNumber() == 0 {
		return lstatPlain(path)
	}
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return FileInfo{}, &fs.PathError{Op: "statx", Path: path, Err: err}
	}
	var st statxResult
	for {
		at := atFdcwd
		_, _, errno := syscall.Syscall6(statxNumber(), uintptr(at), uintptr(unsafe.Pointer(name)), atSymlinkNofollow, statxBasicStats|statxBtime, uintptr(unsafe.Pointer(&st)), 0)
		switch errno {
		case 0:
			id := policy.FileID{Dev: makedev(st.DevMajor, st.DevMinor), Ino: st.Ino}
			if st.Mask&statxBtime != 0 {
				id.Birth = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
			}
			return FileInfo{Mode: fileMode(uint32(st.Mode)), ID: id, Links: uint64(st.Nlink), UID: int(st.UID), GID: int(st.GID)}, nil
		case syscall.EINTR:
			continue
		case syscall.ENOENT:
			return FileInfo{}, errno // the usual answer, and nobody prints it
		case syscall.ENOSYS, syscall.EPERM: // a filter older than the call
			return lstatPlain(path)
		default:
			return FileInfo{}, &fs.PathError{Op: "statx", Path: path, Err: errno}
		}
	}
}

// makedev packs a device number as st_dev of stat(2) does.
func makedev(major, minor uint32) uint64 {
	return uint64(major&0xfffff000)<<32 | uint64(major&0xfff)<<8 | uint64(minor&0xffffff00)<<12 | uint64(minor&0xff)
}

func fileMode(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	if m&syscall.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	switch m & syscall.S_IFMT {
	case syscall.S_IFDIR:
		mode |= fs.ModeDir
	case syscall.S_IFLNK:
		mode |= fs.ModeSymlink
	case syscall.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case syscall.S_IFSOCK:
		mode |= fs.ModeSocket
	case syscall.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case syscall.S_IFBLK:
		mode |= fs.ModeDevice
	}
	return mode
}

func lstatPlain(path string) (FileInfo, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return FileInfo{}, err
	}
	info := FileInfo{Mode: fi.Mode()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		info.ID = policy.FileID{Dev: uint64(st.Dev), Ino: st.Ino}
		info.Links, info.UID, info.GID = uint64(st.Nlink), int(st.Uid), int(st.Gid)
	}
	return info, nil
}
