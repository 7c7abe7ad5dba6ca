package winjail

import (
	"fmt"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

var createRestrictedToken = windows.NewLazySystemDLL("advapi32.dll").NewProc("CreateRestrictedToken")

// Flags of CreateRestrictedToken.
const (
	disableMaxPrivilege = 1 // all privileges go but SeChangeNotifyPrivilege
	luaToken            = 4 // groups of administrators only serve to refuse
)

// lowToken returns the token of this process without privileges, with the administrators only to refuse,
// and at low integrity.
func lowToken() (windows.Token, error) {
	var own, out windows.Token
	access := uint32(windows.TOKEN_DUPLICATE | windows.TOKEN_QUERY | windows.TOKEN_ASSIGN_PRIMARY | windows.TOKEN_ADJUST_DEFAULT)
	if err := windows.OpenProcessToken(windows.CurrentProcess(), access, &own); err != nil {
		return 0, fmt.Errorf("the token of this process: %w", err)
	}
	defer own.Close()
	admins, err := windows.CreateWellKnownSid(windows.WinBuiltinAdministratorsSid)
	if err != nil {
		return 0, fmt.Errorf("the group of administrators: %w", err)
	}
	low, err := windows.CreateWellKnownSid(windows.WinLowLabelSid)
	if err != nil {
		return 0, fmt.Errorf("the low integrity level: %w", err)
	}
	deny := windows.SIDAndAttributes{Sid: admins}
	r, _, err := createRestrictedToken.Call(uintptr(own), disableMaxPrivilege|luaToken, 1, uintptr(unsafe.Pointer(&deny)), 0, 0, 0, 0, uintptr(unsafe.Pointer(&out)))
	if r == 0 {
		return 0, fmt.Errorf("CreateRestrictedToken: %w", err)
	}
	label := windows.Tokenmandatorylabel{Label: windows.SIDAndAttributes{Sid: low, Attributes: windows.SE_GROUP_INTEGRITY}}
	if err := windows.SetTokenInformation(out, windows.TokenIntegrityLevel, (*byte)(unsafe.Pointer(&label)), label.Size()); err != nil {
		out.Close()
		return 0, fmt.Errorf("its integrity level: %w", err)
	}
	return out, nil
}

// lowLabel is the label of a directory, and of what is made below it, that programs at low integrity may
// change.
const lowLabel = "(ML;OICI;NW;;;LW)"

// LetWrite labels a directory and all below it, so that programs at low integrity may change it. That holds
// for each such program of the user.
func LetWrite(dir string) error {
	label, err := windows.SecurityDescriptorFromString("S:" + lowLabel)
	if err != nil {
		return err
	}
	list, _, err := label.SACL()
	if err != nil {
		return err
	}
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return err
	}
	const shared = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := windows.CreateFile(name, windows.WRITE_OWNER|windows.READ_CONTROL, shared, nil, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h)
	if has, err := windows.GetSecurityInfo(h, windows.SE_FILE_OBJECT, windows.LABEL_SECURITY_INFORMATION); err == nil && strings.Contains(has.String(), lowLabel) {
		return nil // to write it again would go through all that is below
	}
	return windows.SetSecurityInfo(h, windows.SE_FILE_OBJECT, windows.LABEL_SECURITY_INFORMATION, nil, nil, nil, list)
}
