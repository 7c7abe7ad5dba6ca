// Package paths decides about files and directories: whether the policy refuses an attempt that a
// text or the record names, which rule would grant it, and which rules are never proposed.
package paths
