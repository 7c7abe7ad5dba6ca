// Package jailtest starts real jails for the tests of package confine.
//
// The program in a jail is the test binary again, as the attacker of package attacker: it
// makes the attempts that it is given and reports one outcome for each. TestMain of such a
// test package calls Main. A test then reads:
//
//	jailtest.Needs(t)
//	p := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: policy.Read})
//	jailtest.Expect(t, "unconfined", jailtest.Unconfined(t, "/", attacker.Try("write", file))[0], attacker.Succeeded)
//	jailtest.Expect(t, "in the jail", jailtest.Attempt(t, p, "write", file), "EROFS")
//
// Attempt and Attempts wait for the jail to end. Begin returns while it runs. Unconfined makes
// the same attempts outside a jail: the control, which shows that the attempt can succeed.
//
// Functions with HostNS in their names are for jails without namespaces. They need a host that
// refuses user namespaces. ForbidEnv makes the test binary such a host for itself.
//
// The jails use a directory below /var/tmp, since /tmp in a jail is the jail's own.
package jailtest
