// Package command finds what the command of a server needs to start: its program, the interpreters in
// front of it, the installation of each, and the package of a script.
package command
