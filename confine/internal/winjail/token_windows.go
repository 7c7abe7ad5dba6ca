package winjail

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

var createRestrictedToken = windows.NewLazySystemDLL("advapi32.dll").NewProc("CreateRestrictedToken")

// Flags of CreateRestrictedToken.
const (
	disableMaxPrivilege = 1 // all privileges go but SeChangeNotifyPrivilege
	luaToken            = 4 // groups of administrators only serve to refuse
)

// restrictedToken returns the token of this process without privileges, and with the administrators only
// to refuse.
func restrictedToken() (windows.Token, error) {
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
	deny := windows.SIDAndAttributes{Sid: admins}
	r, _, err := createRestrictedToken.Call(uintptr(own), disableMaxPrivilege|luaToken, 1, uintptr(unsafe.Pointer(&deny)), 0, 0, 0, 0, uintptr(unsafe.Pointer(&out)))
	if r == 0 {
		return 0, fmt.Errorf("CreateRestrictedToken: %w", err)
	}
	return out, nil
}

// Faults says what a token has that a server must not have: privileges, and the group of administrators.
func Faults(t windows.Token) (privileges, groups []string, err error) {
	var n uint32
	windows.GetTokenInformation(t, windows.TokenPrivileges, nil, 0, &n)
	buf := make([]uint64, (n+7)/8+1) // aligned as the structure must be
	if err := windows.GetTokenInformation(t, windows.TokenPrivileges, (*byte)(unsafe.Pointer(&buf[0])), uint32(len(buf)*8), &n); err != nil {
		return nil, nil, fmt.Errorf("its privileges: %w", err)
	}
	var pass windows.LUID
	name, err := windows.UTF16PtrFromString("SeChangeNotifyPrivilege")
	if err != nil {
		return nil, nil, err
	}
	if err := windows.LookupPrivilegeValue(nil, name, &pass); err != nil {
		return nil, nil, fmt.Errorf("SeChangeNotifyPrivilege: %w", err)
	}
	for _, p := range (*windows.Tokenprivileges)(unsafe.Pointer(&buf[0])).AllPrivileges() {
		if p.Luid != pass {
			privileges = append(privileges, fmt.Sprintf("privilege %d", p.Luid.LowPart))
		}
	}
	all, err := t.GetTokenGroups()
	if err != nil {
		return nil, nil, fmt.Errorf("its groups: %w", err)
	}
	for _, g := range all.AllGroups() {
		if g.Sid.IsWellKnown(windows.WinBuiltinAdministratorsSid) && g.Attributes&windows.SE_GROUP_USE_FOR_DENY_ONLY == 0 {
			groups = append(groups, "the group of administrators")
		}
	}
	return privileges, groups, nil
}
