//go:build seatbelt

package sandboxexec

import (
	"os"
	"strings"
)

// FakeEnv names the file that stands for sandbox-exec in tests on Linux. Without it the running
// program stands for it: see package sandboxexectest. Variables that begin with this name reach it.
const FakeEnv = "MCPJAIL_FAKE_SANDBOX"

// program returns the file that is executed as sandbox-exec, and its environment.
func program() (file string, env []string) {
	file = "/proc/self/exe"
	if named := os.Getenv(FakeEnv); named != "" {
		file = named
	}
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, FakeEnv) {
			env = append(env, v)
		}
	}
	return file, env
}

// FakeTempEnv has a part of these names.
const FakeTempEnv = "MCPJAIL_FAKE_SANDBOX_TEMP"

// FakeTemp is the beginning of the TMPDIRs of servers that tests start. It differs for each run of them.
func FakeTemp() string { return "/tmp/mj-" + os.Getenv(FakeTempEnv) }
