// Package stub makes system calls in another process.
//
// A [Stub] is a process that executes a program of a few hundred bytes, which this package
// assembles. The program decides nothing: it reads the numbers and arguments of system calls
// from memory that it shares with this program (the launcher), makes the calls, stores the
// results, and waits for more. So a process can start in new namespaces (clone(2)), and the
// launcher can lead it through building a jail. Nothing that the launcher knows is in that
// process's memory. The stub starts faster than a Go program, and takes less memory.
//
// A [Task] is one process of a stub. A stub starts as one task, [Stub.First], and tasks
// fork others. The tasks share memory. Each has its own credentials, seccomp filters, Landlock
// domain, working directory and descriptors, unless the flags given to [Task.Fork] say otherwise.
// A task may execute another program, and then it has ended.
//
// The functions that are named like those of package unix make one system call each in a task.
// The zero Task makes them in the calling thread, so that the same code builds a jail from
// outside and from inside. Descriptors and process numbers in arguments and results are the
// stub's.
//
// # Batches
//
// Between [Task.Begin] and [Task.Submit] a task collects its calls and does not make them. Each
// returns a future in place of its result: a number that later calls of any task accept as an
// argument. Submit hands the batch to the task, which makes the calls up to the first that
// fails. [Task.Wait] waits for the end of the batch, and then calls the functions given to
// [Task.OnComplete]. Structures that the kernel fills in are set after Wait.
//
// An error of a batch ([CallError]) names a system call, and not the step that made it. A
// caller that needs the step builds the jail again with a stub for which it called
// [Stub.SetStepwise]: there each call is made at once and returns its own error.
//
// # Limits
//
// A stub has four tasks at most, a batch 4096 calls, and the arguments of a batch one
// megabyte (five for the last task). One goroutine at a time may use a task. There are
// programs for amd64 and arm64.
package stub
