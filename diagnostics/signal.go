package diagnostics

import "syscall"

// signalNames names signals by what the system calls them: the numbers and the
// constants differ between systems, these words do not.
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

// signalName is the name of a signal, "" for none.
func signalName(s syscall.Signal) string {
	if s == 0 {
		return ""
	}
	if name := signalNames()[s.String()]; name != "" {
		return name
	}
	return s.String()
}
