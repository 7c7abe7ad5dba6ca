//go:build seatbelt

// Package sandboxexectest stands for /usr/bin/sandbox-exec in tests on Linux. It reads the profile
// as the real program does, fails as that does when a test asks for it, and confines nothing.
package sandboxexectest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/sandboxexec"
)

// HowEnv tells the program how to fail: one of the words of failures.
const HowEnv = sandboxexec.FakeEnv + "_HOW"

// The ways to fail, each as the real program was seen to.
const (
	RefuseText  = "text"   // 65: a word of the profile is unknown
	RefuseApply = "apply"  // 71: this process is in a sandbox already
	RefuseExec  = "execvp" // 71: the program cannot be executed
	Abort       = "abort"  // SIGABRT, of a program that lacks what each needs
	Hang        = "hang"   // nothing happens
	Silent      = "silent" // status 1 without a word
)

// Main runs the program if this process was started as it, or is the first of a namespace of tests.
// It does not return then.
func Main() {
	switch {
	case len(os.Args) == 0:
		return
	case os.Args[0] == sandboxexec.TestInit:
		begin()
	case os.Args[0] != sandboxexec.Path:
		return
	}
	fail(os.Getenv(HowEnv))
	argv, err := parse(os.Args[1:])
	if err != nil {
		exit(65, err.Error())
	}
	err = syscall.Exec(argv[0], argv, nil)
	exit(71, fmt.Sprintf("execvp() of '%s' failed: %v", argv[0], err))
}

func exit(status int, said string) {
	fmt.Fprintln(os.Stderr, "sandbox-exec: "+said)
	os.Exit(status)
}

// fail ends this process in the way that a test asks for.
func fail(how string) {
	switch how {
	case RefuseText:
		exit(65, "unbound variable: file-flies* at <input string>, line 3")
	case RefuseApply:
		exit(71, "sandbox_apply: Operation not permitted")
	case RefuseExec:
		exit(71, "execvp() of '/no/mcp-jail' failed: No such file or directory")
	case Abort:
		fmt.Fprintln(os.Stderr, "dyld[1]: Library not loaded: /usr/lib/libSystem.B.dylib")
		syscall.Exec("/bin/sh", []string{"sh", "-c", "ulimit -c 0; kill -ABRT $$"}, nil)
	case Hang:
		time.Sleep(time.Hour) // Go ends a process that waits for nothing at all
	case Silent:
		os.Exit(1)
	}
}

// parse reads the arguments and the profile. It returns the program with its arguments.
func parse(args []string) (argv []string, err error) {
	var file string
	var params []string
	for len(args) > 1 && args[0] != "--" {
		switch args[0] {
		case "-f":
			file = args[1]
		case "-D":
			params = append(params, args[1])
		default:
			return nil, fmt.Errorf("unknown option %s", args[0])
		}
		args = args[2:]
	}
	if len(args) < 2 || !filepath.IsAbs(args[1]) {
		return nil, fmt.Errorf("no program after --: %q", args)
	}
	for _, dir := range []struct {
		name string
		mode os.FileMode
	}{{file, 0o600}, {filepath.Dir(file), os.ModeDir | 0o700}} {
		info, err := os.Lstat(dir.name)
		if err != nil {
			return nil, err
		}
		if info.Mode() != dir.mode {
			return nil, fmt.Errorf("%s has the mode %v", dir.name, info.Mode())
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return args[1:], check(string(text), params)
}

// check returns an error for a profile that the real program would refuse, and for parameters that
// it does not use.
func check(text string, params []string) error {
	for i, p := range params {
		name, _, set := strings.Cut(p, "=")
		if !set || slices.ContainsFunc(params[:i], func(q string) bool { return strings.HasPrefix(q, name+"=") }) {
			return fmt.Errorf("bad parameter %q", p)
		}
		if !strings.Contains(text, `(param "`+name+`")`) {
			return fmt.Errorf("parameter %q is not used", name)
		}
	}
	return read(text, params)
}
