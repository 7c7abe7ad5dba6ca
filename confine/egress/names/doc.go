// Package names has what the gateway of a jail needs to answer its lookups: the questions and answers of
// the DNS ([Query]), and the address that each name has in the jail ([Pool]).
package names
