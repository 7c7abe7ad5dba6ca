package resolve

import (
	"strings"
)

// elfInterpreter reads PT_INTERP of a little-endian 64-bit ELF file from its
// first bytes: the kernel opens the loader for execution too, so that a list of
// programs without it starts nothing.
func elfInterpreter(head []byte) string {
	u16 := func(o int) int { return int(head[o]) | int(head[o+1])<<8 }
	u64 := func(o int) uint64 {
		var v uint64
		for i := 7; i >= 0; i-- {
			v = v<<8 | uint64(head[o+i])
		}
		return v
	}
	if len(head) < 64 || string(head[:6]) != "\x7fELF\x02\x01" {
		return ""
	}
	start, size, n := u64(32), uint64(u16(54)), uint64(u16(56))
	if size < 56 {
		return ""
	}
	for i := uint64(0); i < n; i++ {
		o := start + i*size
		if o > uint64(len(head)) || o+56 > uint64(len(head)) {
			return ""
		}
		if u16(int(o)) != 3 || u16(int(o)+2) != 0 {
			continue
		}
		off, length := u64(int(o)+8), u64(int(o)+32)
		if length < 2 || length > 4096 || off > uint64(len(head)) || off+length > uint64(len(head)) {
			return ""
		}
		name := strings.TrimRight(string(head[off:off+length]), "\x00")
		if strings.HasPrefix(name, "/") && !strings.ContainsRune(name, 0) {
			return name
		}
		return ""
	}
	return ""
}
