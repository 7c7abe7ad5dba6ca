package object

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

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
