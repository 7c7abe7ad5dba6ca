// Package steps decides what an undo does at each path, and what it leaves, with the reason. It
// changes nothing.
package steps
