package main

import "golang.org/x/sys/unix"

func environment(s stage) error {
	text, err := unix.SysctlRaw("kern.procargs2", s.Driver)
	return shows(s, text, err)
}
