//go:build unix

package programs

import "syscall"

// execute puts another program in the place of this process.
func execute(path string, argv, env []string) error { return syscall.Exec(path, argv, env) }
