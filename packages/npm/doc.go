// Package npm decides from files what npm and npx decide about packages: which program of
// a package runs and how it is started ([Program]), which versions of node it accepts
// ([Engines], [EngineFits]), and which packages a lock file names ([ReadLock],
// [Digest]). It also tells which variable moves what a package writes into its own folder
// ([DataVariable]).
//
// The package reads what its callers hand it, bytes or an fs.FS. It starts nothing, asks no
// registry, and imports neither os nor syscall. The facts about npm are those of npm
// 11.19.1 with node-semver 7.8.5.
//
// # Limits
//
//   - Lock files of version 3 are read (npm 7 and later write version 2 or 3). Version 2 has
//     the same list and is read too; version 1 is refused.
//   - A range is read as deps.dev/util/semver reads it. What node-semver alone reads, such as "==1.2" or "1 ||", counts
//     as none.
//   - Of bin, the forms of today count: one file, or files by their names. A list, and two spellings of one
//     name, are not read as npm reads them.
//   - A bin that leads out of its package is an error; npm cuts the ".." off and goes on.
//   - Field names are compared exactly, as JavaScript does. A symbolic link in a package is
//     followed as far as the caller's fs.FS follows it; npm itself unpacks none.
package npm
