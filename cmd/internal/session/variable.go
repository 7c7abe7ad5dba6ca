package session

import "os"

// variable returns the value of a variable that names certificates. A diagnosis asks for the file in
// it, to propose that with the variable.
func variable(name string) string { return os.Getenv(name) }
