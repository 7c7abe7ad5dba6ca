// Package origin finds out who left what is at a path: a session, a later one, an undo, or others.
package origin
