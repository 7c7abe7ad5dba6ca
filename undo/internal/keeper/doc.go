// Package keeper keeps what is at a path before a server changes it. It runs in the supervisor
// of a jail.
package keeper
