// Package starts enforces the arguments and variables of command rules: it looks at every program
// that a jailed server starts, before the program's first instruction.
//
// The server's second filter holds each execve (package mediate). The [Tracer] then traces the
// calling thread (ptrace(2), PTRACE_SEIZE) and lets the call continue. If the kernel loads a
// program, the thread stops (PTRACE_EVENT_EXEC). By then the other threads of the process are
// gone, the arguments are copied, and no other process shares the new memory. So the tracer reads
// there what the program will see. Threads that changed the memory of the caller do not matter.
// The tracer asks policy.Profile.MatchStart, takes variables away, and lets the thread go, or
// kills it. A thread whose execve fails stops before the call returns, and is let go. No other
// stop is asked for: forks, threads, calls and signals cost nothing, since no process is traced
// outside an execve.
//
// The execves of one process continue one after the other, so that a process has one traced
// thread at most: see groups_linux.go.
//
// The caller is package mediate: Begin takes each held execve. Package supervisor waits for all
// processes, and passes the status of a thread that has stopped, or of a process that has ended,
// to Stopped.
//
// Threads: one, which makes all calls of ptrace. Lock: Tracer.mu, held with no other.
//
// # Limits
//
// The program of a script is its interpreter. The tracer replaces the name of the script by its
// canonical path, so that the interpreter opens the script that was judged; $0 of the script is
// that path then. A program that cannot be read (mode 0111) and a 32-bit program are refused.
//
// While an execve of one thread hangs in the kernel (a dead network filesystem), the execves of
// the other threads of that process wait. Without the tracer the kernel has them wait too, a step
// later. An execve of a file on FUSE can fail with EINTR, if the filesystem answers interrupts.
package starts
