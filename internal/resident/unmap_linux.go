package resident

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Entries of the auxiliary vector (getauxval(3)), and what a program header says (elf(5)).
const (
	auxHeaders     = 3
	auxHeaderSize  = 4
	auxHeaderCount = 5

	typeLoad    = 1
	typeHeaders = 6
	writable    = 2
)

// programHeader is Elf64_Phdr.
type programHeader struct {
	kind, flags                                            uint32
	offset, address, physical, fileSize, memorySize, align uint64
}

// unmap drops the pages of the program's file that cannot be written. They are those of the file, so
// the next access finds the same bytes. What a debugger has written to them is lost.
func unmap() {
	for _, segment := range readOnly() {
		_ = unix.Madvise(segment, unix.MADV_DONTNEED)
	}
}

// readOnly returns the whole pages of this program's segments that cannot be written, or nil. It
// asks the kernel's auxiliary vector and not /proc, which a supervisor does not have.
func readOnly() (segments [][]byte) {
	var at, size, count uintptr
	vector, err := unix.Auxv()
	if err != nil {
		return nil
	}
	for _, entry := range vector {
		switch entry[0] {
		case auxHeaders:
			at = entry[1]
		case auxHeaderSize:
			size = entry[1]
		case auxHeaderCount:
			count = entry[1]
		}
	}
	if at == 0 || size != unsafe.Sizeof(programHeader{}) {
		return nil // a program of 32 bits
	}
	headers := unsafe.Slice((*programHeader)(pointer(at)), count)
	var moved uintptr // where a position-independent program was loaded
	for _, h := range headers {
		if h.kind == typeHeaders {
			moved = at - uintptr(h.address)
		}
	}
	page := uintptr(unix.Getpagesize())
	for _, h := range headers {
		from := (moved + uintptr(h.address) + page - 1) &^ (page - 1)
		to := (moved + uintptr(h.address+h.memorySize)) &^ (page - 1) // the page of the end may have data as well
		if h.kind == typeLoad && h.flags&writable == 0 && from < to {
			segments = append(segments, unsafe.Slice((*byte)(pointer(from)), to-from))
		}
	}
	return segments
}

// pointer returns a pointer to an address of the program's file, which the collector does not move.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }
