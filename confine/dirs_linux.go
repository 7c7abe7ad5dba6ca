package confine

import "golang.org/x/sys/unix"

// searchDir opens a directory in which names are looked up. It needs no right to list it.
const searchDir = unix.O_PATH
