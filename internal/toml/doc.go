// Package toml reads TOML documents into trees whose values have their lines and places. The
// decoder of a library keeps neither, and each problem of a file is reported with its line.
//
// A document with faults has a tree too, without what is faulty. The caller phrases the faults.
// A document is never written anew: [github.com/mcp-jail/mcp-jail/internal/show] spells the strings
// and keys of lines to add.
package toml
