// Package sessiontest is for the tests of lifecycle and of the packages below it. A [Play] is a
// session seen from its client. [Fake] and [Fleet] are launchers that start the test's own binary
// as a server, without a jail: see testdata/servers.txt, script.go, shop.go and pins.go for what the servers do.
package sessiontest
