// Package learning has what a gateway does for a session that learns: it tells what was asked for
// ([Observations]), and asks whether a host may be reached ([Asker]).
package learning
