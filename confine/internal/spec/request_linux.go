package spec

// unknownUmask is that of a caller when any process of the jail may have changed its
// own: it has to be asked for, and a look into /proc is what costs most then.
const UnknownUmask = -1
