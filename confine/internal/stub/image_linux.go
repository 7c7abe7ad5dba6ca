package stub

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strconv"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

func program() unsafe.Pointer

// endMark is the end of entry.
const endMark = "stubend."

// maxCode is an upper bound of entry's length.
const maxCode = 1024

// image returns the stub's program: an ELF file (elf(5)) with one segment, which holds entry
// and can be read and executed.
func image() ([]byte, error) {
	code, _, found := bytes.Cut(unsafe.Slice((*byte)(program()), maxCode), []byte(endMark))
	if !found {
		return nil, errors.New("the machine code of the stub has no end")
	}
	const base, header, segment = 0x400000, 64, 56
	size := uint64(header + segment + len(code))
	le := binary.LittleEndian
	// Elf64_Ehdr: 64 bit, little endian, version 1.
	b := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 9)...)
	b = le.AppendUint16(b, 2) // ET_EXEC
	b = le.AppendUint16(b, machine)
	b = le.AppendUint32(b, 1)
	b = le.AppendUint64(b, base+header+segment) // e_entry
	b = le.AppendUint64(b, header)              // e_phoff
	b = le.AppendUint64(b, 0)                   // no sections
	b = le.AppendUint32(b, 0)
	for _, v := range []uint16{header, segment, 1, 0, 0, 0} {
		b = le.AppendUint16(b, v)
	}
	// Elf64_Phdr.
	b = le.AppendUint32(b, 1)   // PT_LOAD
	b = le.AppendUint32(b, 4|1) // PF_R, PF_X
	for _, v := range []uint64{0, base, base, size, size, 1 << 16} {
		b = le.AppendUint64(b, v)
	}
	return append(b, code...), nil
}

// programFile returns a descriptor of a file in memory that holds the image. It can be read
// and executed only.
var programFile = sync.OnceValues(func() (fd int, err error) {
	code, err := image()
	if err != nil {
		return -1, err
	}
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	fd, err = unix.MemfdCreate(memfdName, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if err == unix.EINVAL { // before Linux 6.3 every memfd can be executed
		fd, err = unix.MemfdCreate(memfdName, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return -1, err
	}
	defer unix.Close(fd)
	if n, err := unix.Write(fd, code); err != nil || n != len(code) {
		return -1, errors.Join(err, unix.ENOSPC)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return -1, err
	}
	// A file that is open for writing cannot be executed (ETXTBSY).
	return unix.Open(fdPath(fd), unix.O_RDONLY|unix.O_CLOEXEC, 0)
})

// memfdName is the name that the kernel shows for the program and for the memory.
const memfdName = "mcp-jail: init"

func fdPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
