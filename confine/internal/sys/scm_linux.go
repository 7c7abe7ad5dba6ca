package sys

import "golang.org/x/sys/unix"

// ParseRights returns the descriptors of the first control message (SCM_RIGHTS).
func ParseRights(control []byte) ([]int, error) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	return unix.ParseUnixRights(&messages[0])
}
