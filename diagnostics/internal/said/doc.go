// Package said reads what a failing server says: which names are in its text (paths, hosts,
// variables, programs), which fault goes with each, and which lines are about refusals of others.
// It knows no policy: whether the jail refuses a name is decided elsewhere.
package said
