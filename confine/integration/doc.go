// Package integration tests running jails: real jails on the real kernel, with the
// attacker of confine/internal/attacker as the server in them.
//
// Tests named TestJail… need user namespaces. Tests named TestHostNS… need a host that
// refuses them; TestWithoutNamespaces makes such a host and runs them there. Tests named
// TestNetwork… need granted hosts; TestEgress makes an Internet of network namespaces and
// runs them there. Each test of a refusal has a control: the same attempt outside of a jail
// succeeds.
package integration
