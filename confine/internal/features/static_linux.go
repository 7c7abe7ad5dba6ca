package features

import (
	"encoding/binary"
	"errors"
	"os"
	"sync"
)

// IsStatic returns an error if a program needs an interpreter to be executed (elf(5),
// PT_INTERP), which a jail may not have. It accepts a file that is no program: executing that
// fails later.
func IsStatic(path string) error {
	if path == SelfPath {
		return selfIsStatic()
	}
	return interpreterOf(path)
}

var selfIsStatic = sync.OnceValue(func() error { return interpreterOf(SelfPath) })

// errDynamic is the error of a program that is linked with libraries, as Go links it with cgo.
var errDynamic = errors.New("this program was built with cgo, and so needs libraries to be executed in a jail: build it with CGO_ENABLED=0")

func interpreterOf(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // it may be executed and not read
	}
	defer f.Close()
	b := make([]byte, 4096) // the headers come first
	n, _ := f.Read(b)
	if b = b[:n]; n < 64 || string(b[:5]) != "\x7fELF\x02" {
		return nil
	}
	const interp = 3
	at, size, count := binary.NativeEndian.Uint64(b[32:]), uint64(binary.NativeEndian.Uint16(b[54:])), int(binary.NativeEndian.Uint16(b[56:]))
	for range count {
		if at+4 > uint64(len(b)) {
			return nil
		}
		if binary.NativeEndian.Uint32(b[at:]) == interp {
			return errDynamic
		}
		at += size
	}
	return nil
}
