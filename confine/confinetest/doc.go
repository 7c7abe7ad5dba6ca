// Package confinetest lets the tests of other packages start servers by the code for macOS, on Linux.
// The build tag seatbelt selects that. A program that confines nothing stands for sandbox-exec.
package confinetest
