package hostfs

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// checkAccount returns an error unless a file belongs to the user, to administrators or to the system.
// Access control lists, which can let others write it, are not read.
func checkAccount(path string) error {
	info, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return fmt.Errorf("the owner of %s is not known: %w", path, err)
	}
	owner, _, err := info.Owner()
	if err != nil || owner == nil {
		return fmt.Errorf("the owner of %s is not known", path)
	}
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return fmt.Errorf("which user this process has is not known: %w", err)
	}
	if isOwnAccount(owner.String(), user.User.Sid.String()) {
		return nil
	}
	name := owner.String()
	if account, domain, _, err := owner.LookupAccount(""); err == nil {
		name = domain + `\` + account
	}
	return ofAccount(path, name)
}
