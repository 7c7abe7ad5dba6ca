// Package winpath knows the paths and programs of Windows. It is pure, and tests of every system run it.
//
// A path is a drive and the names below it. Every other form is refused by its name: another machine's
// paths (UNC), paths that skip the rules of names (\\?\), short names, streams, devices, and names that
// Windows changes when it opens them. Each is a second name of something, by which a rule or a check about
// the first one could be passed by.
//
// A program is a file .exe or .com. Batch files and scripts of PowerShell are never started: cmd.exe reads
// their arguments as commands.
package winpath
