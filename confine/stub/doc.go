// Package stub has system calls carried out by another process.
//
// A [Stub] is a process that executes a program of a few hundred bytes, made of this
// package's assembler when it is needed. It knows nothing and decides nothing: it takes
// numbers and arguments of system calls out of memory that it shares with this program,
// makes the calls, puts the results there, and waits for more. So a process can be born
// into namespaces (clone(2)), and be led through what is to be done there by a program that
// stays outside, with all it knows, and with nothing of it in the other process's memory. It
// is there in a fifth of the time that a Go program takes up to main, and its memory is some
// ten kilobytes.
//
// A [Task] is one thread of control of a stub. What the kernel keeps for each process
// (credentials, filters, Landlock domains, working directories, tables of descriptors)
// each has for itself, as far as its flags of clone(2) say so. A task may execute another
// program, and is none any more then.
//
// The methods of a task are called like the functions of package unix, and make one call
// each; or they put it on a list, which the task carries out by itself: see [Task.Record].
//
// The zero value of Task is the calling thread itself. What is written in terms of a
// task can so be done by either.
//
// Descriptors and process numbers in arguments and results are those of the stub's.
package stub
