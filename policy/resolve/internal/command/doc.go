// Package command finds the program of a command line as execvp and env do, and what it needs to
// start: interpreters, the installation of a runtime behind the shims of version managers, and the
// package of a script.
package command
