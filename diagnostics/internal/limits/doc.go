// Package limits decides about limits of the jail, and about signals that end a server.
package limits
