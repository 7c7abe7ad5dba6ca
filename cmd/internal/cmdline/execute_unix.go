//go:build unix

package cmdline

import "syscall"

func execute(path string, argv, env []string) error { return syscall.Exec(path, argv, env) }
