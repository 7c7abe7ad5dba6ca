// Package install fetches the packages that launchers such as npx are asked for, and pins
// them. Only the companion program uses it.
//
// npm itself resolves, fetches and unpacks. It runs in a jail that reaches the registries of
// the user's npm configuration and no other host, with a HOME of its own, without a workspace,
// and without the user's variables. Scripts of packages do not run.
//
// An installation works in a stage of package store. If it is interrupted, the next one goes on
// with the files that this one has fetched. The user's own cache of npm is visible in the jail,
// read-only, and npm looks there before it asks the registry.
package install
