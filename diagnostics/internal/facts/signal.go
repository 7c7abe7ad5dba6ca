package facts

import (
	"syscall"
)

// signalNames maps the system's description of a signal to its name. Numbers and constants
// differ between systems. These descriptions do not.
func signalNames() map[string]string {
	return map[string]string{
		"hangup": "SIGHUP", "interrupt": "SIGINT", "quit": "SIGQUIT", "illegal instruction": "SIGILL",
		"trace/breakpoint trap": "SIGTRAP", "trace/BPT trap": "SIGTRAP", "aborted": "SIGABRT", "abort trap": "SIGABRT",
		"bus error": "SIGBUS", "floating point exception": "SIGFPE", "killed": "SIGKILL",
		"user defined signal 1": "SIGUSR1", "user defined signal 2": "SIGUSR2",
		"segmentation fault": "SIGSEGV", "broken pipe": "SIGPIPE", "alarm clock": "SIGALRM", "terminated": "SIGTERM",
		"CPU time limit exceeded": "SIGXCPU", "cputime limit exceeded": "SIGXCPU",
		"file size limit exceeded": "SIGXFSZ", "filesize limit exceeded": "SIGXFSZ",
		"bad system call": "SIGSYS",
	}
}

// SignalName returns the name of a signal, or "" for none.
func SignalName(s syscall.Signal) string {
	if s == 0 {
		return ""
	}
	if name := signalNames()[s.String()]; name != "" {
		return name
	}
	return s.String()
}
