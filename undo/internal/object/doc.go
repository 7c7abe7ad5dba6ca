// Package object tells what stands at a path, and looks at it without following a symbolic link.
package object
