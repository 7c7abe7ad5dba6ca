package winjail

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	advapi32              = windows.NewLazySystemDLL("advapi32.dll")
	createRestrictedToken = advapi32.NewProc("CreateRestrictedToken")
	lookupPrivilegeName   = advapi32.NewProc("LookupPrivilegeNameW")
)

// Flags of CreateRestrictedToken.
const (
	disableMaxPrivilege = 1 // all privileges go but SeChangeNotifyPrivilege
	luaToken            = 4 // groups of administrators only serve to refuse
)

// restrictedToken returns the token of this process without privileges, with the administrators only to
// refuse, and with the integrity level of an ordinary program.
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
	if err := lowerIntegrity(out); err != nil {
		out.Close()
		return 0, err
	}
	return out, nil
}

// medium is the integrity level of an ordinary program, as the last number of its SID. A program that an
// administrator started as such has a higher one, which lets it change what others may not.
const medium = 0x2000

// lowerIntegrity lowers the level of a token to that of an ordinary program.
func lowerIntegrity(t windows.Token) error {
	level, err := integrity(t)
	if err != nil || level <= medium {
		return err
	}
	sid, err := windows.CreateWellKnownSid(windows.WinMediumLabelSid)
	if err != nil {
		return fmt.Errorf("the medium integrity level: %w", err)
	}
	label := windows.Tokenmandatorylabel{Label: windows.SIDAndAttributes{Sid: sid, Attributes: windows.SE_GROUP_INTEGRITY}}
	if err := windows.SetTokenInformation(t, windows.TokenIntegrityLevel, (*byte)(unsafe.Pointer(&label)), label.Size()); err != nil {
		return fmt.Errorf("its integrity level: %w", err)
	}
	return nil
}

// integrity returns the integrity level of a token.
func integrity(t windows.Token) (uint32, error) {
	buf, err := information(t, windows.TokenIntegrityLevel)
	if err != nil {
		return 0, fmt.Errorf("its integrity level: %w", err)
	}
	sid := (*windows.Tokenmandatorylabel)(unsafe.Pointer(&buf[0])).Label.Sid
	return sid.SubAuthority(uint32(sid.SubAuthorityCount()) - 1), nil
}

// information returns what Windows tells of a token, aligned as its structures must be.
func information(t windows.Token, class uint32) ([]uint64, error) {
	var n uint32
	windows.GetTokenInformation(t, class, nil, 0, &n)
	buf := make([]uint64, (n+7)/8+1)
	err := windows.GetTokenInformation(t, class, (*byte)(unsafe.Pointer(&buf[0])), uint32(len(buf)*8), &n)
	return buf, err
}

// Faults says what a token has that a server must not have: privileges, the group of administrators, and a
// high integrity level.
func Faults(t windows.Token) (all []string, err error) {
	level, err := integrity(t)
	if err != nil {
		return nil, err
	}
	if level > medium {
		all = append(all, "a high integrity level")
	}
	privileges, err := privilegesOf(t)
	if err != nil {
		return nil, err
	}
	groups, err := t.GetTokenGroups()
	if err != nil {
		return nil, fmt.Errorf("its groups: %w", err)
	}
	for _, g := range groups.AllGroups() {
		if g.Sid.IsWellKnown(windows.WinBuiltinAdministratorsSid) && g.Attributes&windows.SE_GROUP_USE_FOR_DENY_ONLY == 0 {
			all = append(all, "the group of administrators")
		}
	}
	return append(all, privileges...), nil
}

// privilegesOf returns the privileges of a token but the one that every server keeps. A token without
// that one is an error: then nothing shows that privileges can be seen at all.
func privilegesOf(t windows.Token) (all []string, err error) {
	buf, err := information(t, windows.TokenPrivileges)
	if err != nil {
		return nil, fmt.Errorf("its privileges: %w", err)
	}
	var pass windows.LUID
	kept := false
	name, err := windows.UTF16PtrFromString("SeChangeNotifyPrivilege")
	if err != nil {
		return nil, err
	}
	if err := windows.LookupPrivilegeValue(nil, name, &pass); err != nil {
		return nil, fmt.Errorf("SeChangeNotifyPrivilege: %w", err)
	}
	for _, p := range (*windows.Tokenprivileges)(unsafe.Pointer(&buf[0])).AllPrivileges() {
		if p.Luid == pass {
			kept = true
		} else {
			all = append(all, privilegeName(p.Luid))
		}
	}
	if !kept {
		return nil, errors.New("SeChangeNotifyPrivilege, which every program has, is not among its privileges")
	}
	return all, nil
}

// privilegeName returns the name of a privilege, such as SeDebugPrivilege. One that Windows does not name has
// its number.
func privilegeName(id windows.LUID) string {
	name := make([]uint16, 64)
	n := uint32(len(name))
	r, _, err := lookupPrivilegeName.Call(0, uintptr(unsafe.Pointer(&id)), uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(&n)))
	if err == windows.ERROR_INSUFFICIENT_BUFFER {
		name = make([]uint16, n)
		r, _, _ = lookupPrivilegeName.Call(0, uintptr(unsafe.Pointer(&id)), uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(&n)))
	}
	if text := windows.UTF16ToString(name); r != 0 && text != "" {
		return text
	}
	return fmt.Sprintf("privilege %d", int64(id.HighPart)<<32|int64(id.LowPart))
}
