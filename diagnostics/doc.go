// Package diagnostics turns evidence about a failure into a diagnosis with the
// lines of policy that would grant what was refused. It does no I/O.
package diagnostics
