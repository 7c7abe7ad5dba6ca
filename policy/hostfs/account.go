package hostfs

// Accounts of Windows, beside the user's, whose files mcp-jail believes: administrators, the system, and
// the installer, to which the files of the system belong.
const (
	administrators = "S-1-5-32-544"
	localSystem    = "S-1-5-18"
	installer      = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"
)

// isOwnAccount reports whether the owner of a file is the user, the system, its installer or an administrator. Both
// are written as SIDs.
func isOwnAccount(owner, user string) bool {
	switch owner {
	case "":
		return false
	case user, administrators, localSystem, installer:
		return true
	}
	return false
}

// ofAccount returns the error about a file that belongs to another account.
func ofAccount(file, account string) error {
	return &OwnerError{File: file, At: file, Reason: "belongs to " + account, Fix: ownPlace}
}
