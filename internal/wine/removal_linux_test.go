package wine

// removal has the Go library remove files in a way that Wine 8 knows. Wine lacks the newer way, and
// answers it with an error that the library does not take for that: so the library takes its older
// one. That opens a read-only file again, to take the attribute away. Wine refuses to open it, so
// the file is not opened again: Wine takes the attribute away by the handle that is there.
const removal = `package %[1]s

import (
	"sync"
	"syscall"
	_ "unsafe"
)

//go:linkname olderRemoval internal/syscall/windows.TestDeleteatFallback
var olderRemoval bool

//go:linkname reopenFile internal/syscall/windows.procReOpenFile
var reopenFile *lazyProc

// lazyProc has the fields of syscall.LazyProc.
type lazyProc struct {
	mu   sync.Mutex
	name string
	dll  *syscall.LazyDLL
	proc *proc
}

type proc struct {
	dll     *syscall.DLL
	name    string
	address uintptr
}

func init() {
	olderRemoval = true
	reopenFile.proc = &proc{address: syscall.NewCallback(func(file syscall.Handle, access, share, flags uintptr) uintptr {
		again, self := syscall.InvalidHandle, ^syscall.Handle(0)
		syscall.DuplicateHandle(self, file, self, &again, 0, false, syscall.DUPLICATE_SAME_ACCESS)
		return uintptr(again)
	})}
}
`
