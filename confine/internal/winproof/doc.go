// Package winproof shows on a Windows machine what package winjail holds there.
//
// Each [Probe] is an attempt of a process of mcp-jail's own, made inside a jail and outside of one. Outside
// it must succeed: an attempt that fails everywhere shows nothing, and counts as failed. Probes of what a
// token has look at the token, and need no control.
//
// [Prove] makes all of them, each time that it is called. No result is kept in a file: on Windows a server
// can change every file of the user, and so a result that opens a start.
//
// # Limits
//
// What the job keeps from the desktop is not probed: an attempt would touch the user's own clipboard.
package winproof
