// Package installed replaces the command line of a package launcher by that of the program that
// the launcher would run.
//
//	finder := installed.Finder{Store: ..., LockFile: ..., Host: &host}
//	program, err := finder.Find(ctx, line)
//	...
//	err = program.Check(ctx) // before the first instruction of the program
//
// The program is the one that the lock file pins, from the store. Nothing is fetched, and no
// launcher runs: ErrNotInstalled says that package install has work to do. A ShadowError says
// that npx would run a file of the project instead, in node_modules/.bin; the line then runs as it is
// given, unless it is of the user's own configuration. A pinned package runs all the same, and Program.Shadow names what the launcher
// would have run: a project could otherwise put its own program in the place of the pinned one.
//
// Find begins the comparison of the installed files with the lock file and does not wait for
// it. Check waits.
//
// # Limits
//
//   - A program that npm or uv has installed globally is no shadow, although npx and uvx would run
//     it. Neither is a package in node_modules of which no file in node_modules/.bin has the name.
package installed
