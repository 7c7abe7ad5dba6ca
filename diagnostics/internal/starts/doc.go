// Package starts decides about the start of programs: of the server itself, of those that it starts,
// and of packages that a launcher would fetch.
package starts
