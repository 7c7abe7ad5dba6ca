// Package attacks makes the attacks that a hostile server may try, and shows that the jail
// refuses them.
//
// testdata/attacks.txt has the attacks, each in several forms. Each form is made in several
// worlds: outside a jail, in the jail as it is shipped, in the jail for hosts that forbid
// namespaces, and behind each wall of the jail alone. A form that fails outside a jail shows
// nothing on this host. The stage is the tree of files, the processes and the services of the
// host that the attacks aim at. The program that makes them is in package attacker.
//
// TestAttackTable compares the outcomes with the table in docs/attack-matrix.md; with -update it
// rewrites the table. It does both in make test-long only (MCPJAIL_LONG=1), as root. TestAttackMatrix
// compares the names of the attacks with the table in every run.
package attacks
