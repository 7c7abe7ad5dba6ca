package confine

import (
	"encoding/binary"
	"errors"
	"os"
	"sync"

	"github.com/mcp-jail/mcp-jail/confine/internal/probe"
)

// standsAlone tells whether a program needs no other file to be executed: in a jail there may
// be none (elf(5), PT_INTERP). What is no program is found out when it is executed.
func standsAlone(path string) error {
	if path == probe.SelfPath {
		return selfStandsAlone()
	}
	return interpreted(path)
}

var selfStandsAlone = sync.OnceValue(func() error { return interpreted(probe.SelfPath) })

// errDynamic: what Go builds with cgo is linked with libraries.
var errDynamic = errors.New("this program was built with cgo, and so needs libraries to be executed in a jail: build it with CGO_ENABLED=0")

func interpreted(path string) error {
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
