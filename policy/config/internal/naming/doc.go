// Package naming derives names of servers from command lines.
package naming
