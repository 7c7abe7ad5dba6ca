//go:build darwin || (linux && !seatbelt)

package sandboxexec

// program returns the file that is executed as sandbox-exec, and its environment.
func program() (file string, env []string) { return Path, []string{} }
