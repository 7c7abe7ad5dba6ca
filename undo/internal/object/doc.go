// Package object tells what is at a path, and looks at it without following a symbolic link.
package object
