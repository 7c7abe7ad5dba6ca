// Package attacks tries what a hostile server may try. Each attack is made outside of a
// jail (the control), in the jail as it is shipped, and behind each wall of the jail alone.
// TestAttackTable compares the outcomes with the table in SECURITY.md; -update rewrites it.
package attacks
