package undo

import (
	"encoding/binary"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

const listOfAccess = "system.posix_acl_access"

// maskedBy returns the State.Masked of an open object.
func maskedBy(fd int) uint32 {
	var list [64 << 10]byte
	n, err := unix.Fgetxattr(fd, listOfAccess, list[:])
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

// maskedDir returns the State.Masked of a directory.
func (k *Keeper) maskedDir(dir int, name string) uint32 {
	fd, lock, err := k.openDir(dir, name)
	if err != nil {
		return 0
	}
	defer lock()
	defer unix.Close(fd)
	return maskedBy(fd)
}

// modeFor returns the mode that an object is to get to which a name in /proc/self/fd leads.
func (s *State) modeFor(name string) uint32 {
	if n, err := unix.Getxattr(name, listOfAccess, nil); err == nil && n > 0 {
		return s.Mode
	}
	return s.modeAlone()
}

// copyAttributes copies extended attributes and the access list of the file at a place to the one
// that replaces it. The journal has none, so these are the best there are. They have to be those of
// the same file: a server may have put a file of its own there, with an access list for others.
// Nothing that gives a program rights is copied, such as security.capability.
func (r *Restorer) copyAttributes(p *place, id ID, to int) (lost error) {
	p.onObject(func(name string, now State) error {
		list := make([]byte, 64<<10)
		n, err := unix.Listxattr(name, list)
		if err != nil || !r.is(now.ID, id) {
			return err
		}
		for attr := range strings.SplitSeq(string(list[:n]), "\x00") {
			if attr != listOfAccess && !strings.HasPrefix(attr, "user.") {
				continue
			}
			value := make([]byte, 64<<10)
			size, err := unix.Getxattr(name, attr, value)
			if err == nil {
				err = unix.Fsetxattr(to, attr, value[:size], 0)
			}
			if err != nil && err != unix.ENODATA && attr != listOfAccess {
				lost = fmt.Errorf("its attribute %q would be lost: %w", attr, err)
			}
		}
		return nil
	})
	return lost
}

// dropAccessLists removes the access lists of an object. A new one has those that its directory
// gives, and a server may have chosen these.
func dropAccessLists(name string) {
	unix.Removexattr(name, listOfAccess)
	unix.Removexattr(name, "system.posix_acl_default")
}
