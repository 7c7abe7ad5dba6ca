// Package journal writes and reads what is kept of the sessions of a server: a [Store] has a directory
// for each [Session], and there each jail has a journal of [Record] lines and a data file with
// contents. A [History] adds up the records of a session.
package journal
