// Package meaning says what the words of a client's entry mean on this host: what the client replaces
// in them, which files and directories they name, which variables its .env file sets, what its command
// line starts, fetches or hides, and whether it starts on the Windows beside a WSL. It runs nothing, and writes nothing.
//
// Begin at [Names] for paths, and at [Fails] and [Notes] for command lines.
package meaning
