// Package sources reads from where a user's npm, pip and uv take packages, and writes that for the
// one that works in a jail.
//
//	s, err := sources.Reader{Host: host, Logins: true}.Read(sources.NPM)
//	jail.Registries = s.Registries()
//	variables, err := s.Write(jail.Home())
//
// What is read is one table (table.go) of some ten keys a tool. A variable says what a file says:
// npm_config_registry, PIP_INDEX_URL, UV_INDEX_URL. All else that the user's files say is left out,
// and named by [Sources.NotUsed].
//
// A login belongs to a registry. It is handed on only if that registry is used: for npm if npm
// itself would send it there, for pip and uv by the name of the host. A login in an address is taken
// out of it. For npm, logins are in the file that [Sources.Write] writes, for pip and uv in a netrc:
// no variable and no address has one, so that nothing that a package says can name it.
//
// ${NAME} in an .npmrc is filled in once, here, and is written so that npm in the jail finds nothing
// to fill in. For a line that is not the user's own ([Reader.Logins] is false) none is filled in:
// the address of a registry with one is an error, and other settings with one are not used. So is,
// with logins, an address with a variable that is not set; npm would ask a host of that name.
//
// # Limits
//
//   - No file of the working directory counts, and no path that is relative to it. Neither do the
//     variables PREFIX and DESTDIR, nor the npmrc in npm's own package.
//   - A netrc holds for a host, whatever its port. Two indexes of one host with other ports,
//     schemes or logins are an error if an address has a login. A login of the user's
//     own netrc is sent to both, as the user's pip sends it.
//   - Of the user's netrc, a login with a quote or a backslash is not used, nor is one for all hosts.
//     Before 3.11, Python reads no quotes in a netrc: there a password with a space, a backslash or
//     a quote at its beginning, and an empty one, do not work.
//   - Two registries of npm's on one host, with other ports, get one login if the first sends npm to the other:
//     npm itself would do that, too.
//   - npm's logins for a part of a registry (//host/npm/one-package/) are not used, and neither are
//     those of a host that only tarballs come from.
//   - min-release-age and before are both written if two sources have one each: npm then takes before.
//   - Settings that are not used may still be those that a registry needs. They are named, and the
//     registry's answer says the rest.
//   - What uv is told has not been seen by uv: it was not there where the tests ran.
package sources
