package spec

// deviceNodes are bound from the host: a user namespace cannot make its own.
var DeviceNodes = []string{"null", "zero", "full", "random", "urandom", "tty"}
