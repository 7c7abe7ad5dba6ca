package confine

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// programHeader is a program header of a 64-bit file (elf(5), Elf64_Phdr). The package
// debug/elf would have every start initialise what unpacks debugging information.
type programHeader struct {
	kind, flags          uint32
	off, vaddr, paddr    uint64
	filesz, memsz, align uint64
}

const (
	segmentLoad, segmentHeaders = 1, 6 // PT_LOAD, PT_PHDR
	segmentWritable             = 2    // PF_W
)

// LetGo unmaps what this process has in memory of its own program's file: a start needs
// most of that, and a session little, which comes back from the page cache when it is
// touched. The kernel counts what is left to it as its own to reclaim. Nothing that
// could have been written to is let go.
func LetGo() {
	vector, err := unix.Auxv()
	if err != nil {
		return
	}
	var headers, n uintptr // getauxval(3), AT_PHDR and AT_PHNUM
	for _, entry := range vector {
		switch entry[0] {
		case 3:
			headers = entry[1]
		case 5:
			n = entry[1]
		}
	}
	if headers == 0 {
		return
	}
	base := uintptr(0)
	segments := unsafe.Slice(*(**programHeader)(unsafe.Pointer(&headers)), n)
	for _, s := range segments {
		if s.kind == segmentHeaders {
			base = headers - uintptr(s.vaddr)
		}
	}
	page := uintptr(unix.Getpagesize())
	for _, s := range segments {
		if s.kind != segmentLoad || s.flags&segmentWritable != 0 {
			continue
		}
		from := (base + uintptr(s.vaddr) + page - 1) &^ (page - 1)
		to := (base + uintptr(s.vaddr+s.filesz)) &^ (page - 1)
		if to > from {
			unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED)
		}
	}
}
