// Package clients describes MCP clients: where each one keeps its configuration, how it
// writes the entry of a server, and how such an entry is put into the jail and taken out
// again.
//
// A [Client] is data. [All] lists the clients. [ByName] finds one by the name that a person
// types, and [ByFile] by the path of a
// file. A [Place] is a file of a client; [Place.Locate] tells where that file is on a given
// [Host]. A [Table] is the part of the file that lists the servers.
//
// The package reads and writes no file, and parses none. A caller parses the file, and hands
// each entry over as an [Item]; [Client.Entry] says what the entry means. [Entry.Left] says
// why an entry must stay as it is. Otherwise [Entry.Wrap] returns the [Edit] that puts
// mcp-jail before the server's command line, and [Entry.Unwrap] the one that removes it.
// An Edit is data as well, for a program that changes bytes in place.
//
//	before  npx -y @modelcontextprotocol/server-memory
//	after   /usr/bin/mcp-jail run --id memory-4k7q2m9x3vt5 -- npx -y @modelcontextprotocol/server-memory
//
// The wrapped entry contains the whole original. So Unwrap needs no memory: it recognises an
// entry by the program's base name and by the form of the command line, under any path.
//
// Limits. The facts come from three kinds of sources, and docs/clients.md names the one of each
// client: trials, its source, its documentation. Clients change; a client that moved its file is not
// found. Entries that are no text in a file are out of reach: those of extensions, of JetBrains'
// settings, and the shell scripts of Crush.
// Settings beside an entry, with which some clients switch servers off, are not read.
package clients
