package said

import (
	"testing"
)

// TestMatchFault checks that the name of a fault inside another word does not match.
func TestMatchFault(t *testing.T) {
	for line, want := range map[string]string{
		"ModuleNotFoundError: No module named requests":            "",
		"DatabaseBusyError: try again":                             "",
		"RolePermissionMissing":                                    "",
		"RolePermissionError":                                      "",
		"PermissionDeniedError: 403":                               "",
		"EPERMANENT, XEBUSY, EBUSY2, MY_EACCES":                    "",
		"process exited with code: 1, signal: null":                "",
		"rpc error: code: 13, internal":                            "",
		"FileNotFoundError: x":                                     "ENOENT",
		"ResourceNotFoundError: table":                             "",
		"Error: file not found":                                    "ENOENT",
		"java.io.FileNotFoundException: x":                         "ENOENT",
		"net::ERR_FILE_NOT_FOUND":                                  "ENOENT",
		"getaddrinfo ENOTFOUND x.com":                              "ENOTFOUND",
		"ENOTFOUND":                                                "ENOTFOUND",
		"XEPERM and (EPERM)":                                       "EPERM",
		"Errno::EACCES: x":                                         "EACCES",
		"code: 'EBUSY'":                                            "EBUSY",
		"PermissionError: x":                                       "EACCES",
		`Os { code: 1, kind: Other }`:                              "EPERM",
		`Os { code: 13, kind: PermissionDenied, message: "denied"`: "EACCES",
		"kind: PermissionDenied,":                                  "EACCES",
		"PERMISSION DENIED":                                        "EACCES",
		"EROFS: read-only file system":                             "EROFS",
	} {
		if _, got := MatchFault(line); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
