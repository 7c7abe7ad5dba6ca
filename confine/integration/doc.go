// Package integration tests running jails: real jails on the real kernel, with the attacker of
// confine/internal/attacker as the server in them.
//
// The files are named after what mcp-jail promises: files_*, network_*, limits_*, lifetime_* (what
// ends, and what is left), isolation_* (processes, devices, the kernel), start_* (no start is less
// confined than the plan says), diagnosis_* (refusals are recorded) and syscalls_* (the filters).
//
// Tests named TestJail… need user namespaces. Tests named TestHostNS… need a host that refuses
// them; TestWithoutNamespaces makes such a host and runs them there. Tests named TestNetwork… need
// granted hosts; TestEgress makes an Internet of network namespaces and runs them there. Each test
// of a refusal has a control: the same attempt outside a jail succeeds.
//
// The short form takes fewer rounds and fewer combinations than the long form (MCPJAIL_LONG=1).
// make test runs the short form as an ordinary user, and make test-all as root.
package integration
