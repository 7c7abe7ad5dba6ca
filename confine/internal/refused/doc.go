// Package refused tells what a start has shown of the host that it began on: that it forbids user namespaces, or
// makes no copy of a directory.
package refused
