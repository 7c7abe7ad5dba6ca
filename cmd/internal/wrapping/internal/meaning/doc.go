// Package meaning knows what the words of a client's entry mean on this host: what the client replaces
// in them, and which files and directories they name.
package meaning
