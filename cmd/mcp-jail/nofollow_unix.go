//go:build unix

package main

import "syscall"

// noFollow makes open fail if the last component is a symbolic link.
const noFollow = syscall.O_NOFOLLOW
