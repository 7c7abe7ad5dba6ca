// Package names decides about variables, and about the names of programs in a list of commands.
package names
