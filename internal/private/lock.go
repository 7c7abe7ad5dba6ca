package private

import "errors"

// ErrLocked is in the chain of an error about a lock that another process has.
var ErrLocked = errors.New("another process has it locked")

// A Kind is a kind of lock.
type Kind int

// Kinds of locks. Many processes can have the shared lock at the same time.
const (
	Shared Kind = iota
	Exclusive
)
