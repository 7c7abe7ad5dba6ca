package confine

import (
	"debug/elf"
	"unsafe"

	"golang.org/x/sys/unix"
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
	segments := unsafe.Slice(*(**elf.Prog64)(unsafe.Pointer(&headers)), n)
	for _, s := range segments {
		if elf.ProgType(s.Type) == elf.PT_PHDR {
			base = headers - uintptr(s.Vaddr)
		}
	}
	page := uintptr(unix.Getpagesize())
	for _, s := range segments {
		if elf.ProgType(s.Type) != elf.PT_LOAD || elf.ProgFlag(s.Flags)&elf.PF_W != 0 {
			continue
		}
		from := (base + uintptr(s.Vaddr) + page - 1) &^ (page - 1)
		to := (base + uintptr(s.Vaddr+s.Filesz)) &^ (page - 1)
		if to > from {
			unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED)
		}
	}
}
