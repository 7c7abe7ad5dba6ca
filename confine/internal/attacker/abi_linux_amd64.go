package attacker

import (
	"golang.org/x/sys/unix"
)

// lowMemory has mmap choose addresses that 32-bit system calls can name.
const lowMemory = unix.MAP_32BIT
