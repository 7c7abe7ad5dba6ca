//go:build seatbelt

package sandboxlog

import "os"

// FakeEnv names the program that stands for log in tests on Linux. Every user may run it.
const FakeEnv = "MCPJAIL_FAKE_LOG"

// location returns the program that prints the log of the system. all reports whether every user may
// read that.
func location() (file string, all bool) {
	if named := os.Getenv(FakeEnv); named != "" {
		return named, true
	}
	return program, false
}
