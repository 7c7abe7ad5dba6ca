//go:build unix

package main

import "syscall"

// noFollow has an open fail where the name is a symbolic link's.
const noFollow = syscall.O_NOFOLLOW
