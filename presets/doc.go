// Package presets knows what servers that people really use need: hosts, variables, secrets,
// paths and programs. Each preset is a TOML file in the folder servers, built in.
//
//	p, err := presets.Find("github")
//	p, ok := presets.ForPackage(presets.NPM, "@modelcontextprotocol/server-github")
//	os.Stdout.Write(p.Text)
//	applied := p.For(presets.Entry{Env: env, Args: args}) // made to fit a client's entry
//
// # A file
//
// A file has two parts. The first says what is known about the server:
//
//	[preset]
//	title = "GitHub"                  # what it is, for a list
//	stateful = false                  # whether calls depend on one another; see below
//	read_only = ["get_issue"]         # tools that change nothing
//	programs = ["git"]                # what it starts
//	notes = ["…"]                     # what a person must know
//	sources = ["owner/repo@commit path (version)"]
//
//	[[preset.packages]]               # what it is for: npm, pypi, image or command
//	npm = "@modelcontextprotocol/server-github"
//	versions = ["2025.4.8"]           # for which the facts were seen or documented
//
//	[[preset.variables]]
//	name = "GITHUB_PERSONAL_ACCESS_TOKEN"
//	required = true
//	secret = true
//	sent = "header"                   # see Sent
//	header = ["Authorization"]
//	hosts = ["api.github.com"]        # with a net rule below
//	hosts_from = ["GITHUB_HOST"]      # what names the user's own hosts, in place of these
//	checked = true                    # the server would refuse a placeholder
//
//	[[preset.arguments]]              # flag = "--root", position = 1, or rest = true
//	rest = true
//	kind = "directory"                # see Kind
//	read = true                       # the rights; beside = true: in the directory around a file
//
//	[[preset.each]]                   # each directory that a pattern matches, and not what is around it
//	paths = ["~/.cache/app/browser-[0-9]*"]
//	read = true
//
//	[preset.jail]                     # what the server gets because it is in a jail; see Jail
//	variables = { APP_SANDBOX = "false" }
//	arguments = ["--headless"]
//	unless = ["--remote"]             # flags and variables of an entry with which it gets none of it
//
//	[preset.jail.program]             # a program that hosts have in other places too
//	own = ["/opt/app/browser"]        # where the server finds it
//	also = ["/usr/bin/browser"]
//	given = "APP_BROWSER"             # the variable or flag that names it
//
//	[preset.login]                    # see Login; an argument of the kind "inbound" names the port
//	of = ["1"]
//	files = [".app/LOGIN_tokens.json"]
//
// The second part begins with the line [servers.NAME], where NAME is the preset's. It is
// written in the configuration's own words, is decoded by policy/config, and can be pasted
// into a configuration together with a command. It grants what the server needs in its usual
// form. Hosts and paths that only the user knows are described by variables and arguments of
// the first part, and are not granted.
//
// A preset never says which program runs: it has no command, arguments, workspace or waive,
// so it can be laid below any entry.
//
// # Process for each call
//
// With stateful = false in [preset], a server answers a call the same way whether or not the
// process has seen another call, and it lists its tools without network. If this was not tried,
// the preset says stateful = true. The second part is that of a stateful server all the same:
// [servers.NAME.access] of a stateless one would be an error. The caller moves the table to
// [servers.NAME.tools.TOOL].
//
// # Limits
//
//   - A name grants nothing. A caller applies a preset that the user wrote down, or agreed to.
//   - The facts are those of the versions and sources that the file names. A later version
//     may need more; the server then fails, with the line to add.
//   - Tools that are missing from read_only may change something or may not be known.
//   - A server in a container is not confined by mcp-jail. Presets name images so that an
//     entry for one can be turned into an entry for the package.
package presets
