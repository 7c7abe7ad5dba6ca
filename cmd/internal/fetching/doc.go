// Package fetching waits for the installation of a package in front of a client.
//
// The companion installs, and tells how far it is by a [Message] a line. A [Waiter] says that to the
// client, which does not wait for ever: the Waiter knows how long by the client's first message.
package fetching
