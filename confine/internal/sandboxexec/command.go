//go:build darwin || linux

package sandboxexec

// Path is the program that applies a profile. It is never looked up in PATH.
const Path = "/usr/bin/sandbox-exec"

// Arguments returns the arguments of sandbox-exec that start program, with args, under the profile in
// file. All starts get theirs here, so that another way to apply a profile is one change.
func Arguments(file string, params []string, program string, args ...string) []string {
	list := []string{"-f", file}
	for _, p := range params {
		list = append(list, "-D", p)
	}
	return append(append(list, "--", program), args...)
}

// TextArguments is Arguments for a text that names nothing of a policy. Others can read arguments.
func TextArguments(text string, params []string, program string, args ...string) []string {
	list := Arguments("", params, program, args...)
	list[0], list[1] = "-p", text
	return list
}
