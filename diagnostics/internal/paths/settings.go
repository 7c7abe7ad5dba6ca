package paths

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/names"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/internal/lazy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// settings are what one program keeps in the home, and the words by which it says that it misses it.
type settings struct {
	program   string
	lacks     []string              // words, in lower case, that it lacks an identity, a login or a key
	hints     []string              // words that it uses for other faults, too
	names     func() *regexp.Regexp // a name in such words that its settings most likely explain; nil: none
	places    []string              // in the home
	variables []string              // that name such a place, or say the same
	socket    string                // in the home: of the agent that keeps the keys
	makes     string                // the command that makes that socket there, if the agent has it elsewhere
}

// programSettings is the table of programs whose words name no place.
var programSettings = []settings{
	// The agent signs, so that no secret key enters the jail.
	{program: "gpg", lacks: []string{"gpg failed to sign", "gpg: no default secret key", "gpg: signing failed", "decryption failed: no secret key", "gpg: can't check signature: no public key", "gpg: skipped \"", "no secret key"},
		places: []string{".gnupg/pubring.kbx", ".gnupg/pubring.gpg", ".gnupg/gpg.conf"}, variables: []string{"GNUPGHOME"},
		socket: ".gnupg/S.gpg-agent", makes: `ln -s "$(gpgconf --list-dirs agent-socket)" ~/.gnupg/S.gpg-agent`},
	{program: "git", lacks: []string{"author identity unknown", "please tell me who you are", "unable to auto-detect email address", "empty ident name", "no email was given and auto-detection is disabled"},
		places: []string{".gitconfig", ".config/git/config"}, variables: []string{"GIT_CONFIG_GLOBAL", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"}},
	{program: "git", lacks: []string{"could not read username for 'http", "could not read password for 'http", "terminal prompts disabled", "support for password authentication was removed"},
		places: []string{".git-credentials", ".config/git/credentials", ".netrc", ".gitconfig"}, variables: []string{"GIT_ASKPASS"}},
	{program: "ssh", lacks: []string{"permission denied (publickey", "sign_and_send_pubkey"}, places: []string{".ssh"}, variables: []string{"SSH_AUTH_SOCK"}},
	{program: "ssh", lacks: []string{"could not open a connection to your authentication agent", "error connecting to agent", "the agent has no identities", "no private key found for public key"}, variables: []string{"SSH_AUTH_SOCK"}},
	{program: "ssh", lacks: []string{"host key verification failed", "host key is known for"}, places: []string{".ssh/known_hosts"}},
	{program: "ssh", hints: []string{"could not resolve hostname"}, places: []string{".ssh/config"}, names: lazy.Regexp(`could not resolve hostname [a-z0-9_-]+:`)},
	{program: "gh", lacks: []string{"gh auth login", "not logged into any github hosts", "not logged in to any github hosts", "populate the gh_token"},
		places: []string{".config/gh"}, variables: []string{"GH_TOKEN", "GITHUB_TOKEN", "GH_CONFIG_DIR"}},
	{program: "glab", lacks: []string{"glab auth login"}, places: []string{".config/glab-cli"}, variables: []string{"GITLAB_TOKEN"}},
	{program: "aws", lacks: []string{"unable to locate credentials", "could not load credentials from any providers", "unable to load credentials from any", "nocredentialproviders", "no valid credential sources", "no ec2 imds role found", "partial credentials found", "credentialsprovidererror", "nocredentialserror", "aws configure", "aws sso login"},
		places: []string{".aws"}, variables: []string{"AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"}},
	{program: "aws", hints: []string{"you must specify a region", "config profile (", "could not load profile", "region is missing"}, places: []string{".aws/config"}, variables: []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_CONFIG_FILE"}},
	{program: "gcloud", lacks: []string{"could not automatically determine credentials", "could not load the default credentials", "could not find default credentials", "default credentials were not found", "an active account selected", "gcloud auth login", "gcloud auth application-default login", "defaultcredentialserror"},
		places: []string{".config/gcloud"}, variables: []string{"GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG"}},
	{program: "az", lacks: []string{"'az login'", "`az login`", "\"az login\"", "run az login", "azureclicredential", "defaultazurecredential failed"},
		places: []string{".azure"}, variables: []string{"AZURE_CONFIG_DIR"}},
	{program: "kubectl", lacks: []string{"the connection to the server localhost:8080 was refused", "no configuration has been provided", "current-context is not set", "current context is not set", "kubernetes cluster unreachable", "localhost:8080/api", "localhost:8080/version", "unable to load kubeconfig", "no kubeconfig", "invalid kube-config"},
		places: []string{".kube/config"}, variables: []string{"KUBECONFIG"}},
	{program: "docker", lacks: []string{"no basic auth credentials", "error getting credentials", "unauthorized: authentication required", "denied: requested access to the resource is denied"},
		hints:  []string{"pull access denied", "docker login"},
		places: []string{".docker/config.json"}, variables: []string{"DOCKER_CONFIG"}},
	{program: "docker", lacks: []string{"is not a docker command", "docker: unknown command"}, hints: []string{"unknown shorthand flag: 'f' in -f"},
		places: []string{".docker/cli-plugins"}, variables: []string{"DOCKER_CONFIG"}},
	{program: "docker", hints: []string{"cannot connect to the docker daemon"}, places: []string{".docker/config.json", ".docker/contexts"}},
	{program: "npm", lacks: []string{"eneedauth", "requires you to be logged in", "code e401", "npm login", "npm adduser", "authentication token seems to be invalid", "err_pnpm_fetch_401", "no authorization header was set"},
		hints:  []string{"code e403", "code e404"},
		places: []string{".npmrc"}, variables: []string{"NPM_TOKEN", "NODE_AUTH_TOKEN", "NPM_CONFIG_USERCONFIG"}},
	{program: "cargo", lacks: []string{"`cargo login`", "no token found"}, places: []string{".cargo/credentials.toml", ".cargo/credentials", ".cargo/config.toml"}, variables: []string{"CARGO_REGISTRY_TOKEN", "CARGO_HOME"}},
	{program: "pip", lacks: []string{"error, credentials not correct for"}, hints: []string{"no matching distribution found"},
		places: []string{".config/pip/pip.conf", ".pip/pip.conf", ".netrc"}, variables: []string{"PIP_INDEX_URL", "PIP_CONFIG_FILE"}},
	{program: "twine", lacks: []string{"non-interactive terminal", "enter your api token"}, places: []string{".pypirc"}, variables: []string{"TWINE_PASSWORD"}},
	{program: "terraform", lacks: []string{"terraform login", "required token could not be found"}, places: []string{".terraform.d", ".terraformrc"}, variables: []string{"TF_CLI_CONFIG_FILE"}},
	{program: "op", lacks: []string{"you are not currently signed in", "no accounts configured for use with 1password cli", "account is not signed in", "op signin", "op account add"}, places: []string{".config/op"}, variables: []string{"OP_SERVICE_ACCOUNT_TOKEN", "OP_SESSION"}},
	{program: "heroku", lacks: []string{"heroku login"}, places: []string{".netrc"}, variables: []string{"HEROKU_API_KEY"}},
	{program: "flyctl", lacks: []string{"fly auth login", "flyctl auth login"}, places: []string{".fly"}, variables: []string{"FLY_API_TOKEN"}},
	{program: "vercel", lacks: []string{"vercel login"}, places: []string{".local/share/com.vercel.cli"}, variables: []string{"VERCEL_TOKEN"}},
	{program: "netlify", lacks: []string{"netlify login"}, places: []string{".config/netlify"}, variables: []string{"NETLIFY_AUTH_TOKEN"}},
	{program: "firebase", lacks: []string{"firebase login"}, places: []string{".config/configstore"}, variables: []string{"FIREBASE_TOKEN"}},
	{program: "wrangler", lacks: []string{"wrangler login"}, places: []string{".config/.wrangler", ".wrangler"}, variables: []string{"CLOUDFLARE_API_TOKEN"}},
	{program: "supabase", lacks: []string{"supabase login"}, places: []string{".supabase"}, variables: []string{"SUPABASE_ACCESS_TOKEN"}},
	{program: "stripe", lacks: []string{"stripe login"}, places: []string{".config/stripe"}, variables: []string{"STRIPE_API_KEY"}},
	{program: "doctl", lacks: []string{"doctl auth init"}, places: []string{".config/doctl"}, variables: []string{"DIGITALOCEAN_ACCESS_TOKEN"}},
	{program: "hf", lacks: []string{"huggingface-cli login", "hf auth login"}, places: []string{".cache/huggingface/token"}, variables: []string{"HF_TOKEN", "HF_HOME"}},
	{program: "Hugging Face's library", lacks: []string{"couldn't find them in the cached files", "cannot find the requested files in the local cache", "cannot find an appropriate cached snapshot", "localentrynotfounderror"},
		places: []string{".cache/huggingface/hub"}, variables: []string{"HF_HOME", "HF_HUB_CACHE"}},
	{program: "psql", lacks: []string{"no password supplied"}, places: []string{".pgpass", ".pg_service.conf"}, variables: []string{"PGPASSWORD", "PGPASSFILE"}},
	{program: "mysql", lacks: []string{"(using password: no)"}, places: []string{".my.cnf"}, variables: []string{"MYSQL_PWD"}},
}

// AnalyzeSettings returns what a program that a line is of keeps in the user's home, and does not get
// in the jail: withheld variables, and places that exist there and are not granted. ran says that the
// failing call started the program.
func AnalyzeSettings(c *facts.Case, line string, ran func(program string) bool) (found []facts.Finding) {
	line = strings.ToLower(line)
	for _, s := range programSettings {
		switch {
		case said.ContainsAny(line, s.lacks), s.names != nil && s.names().MatchString(line):
			found = append(found, s.missed(c, report.Likely)...)
		case said.ContainsAny(line, s.hints), strings.HasPrefix(line, s.program+": "), ran(s.program):
			found = append(found, s.missed(c, report.Possible)...)
		}
	}
	return found
}

func (s settings) missed(c *facts.Case, sure report.Attribution) (found []facts.Finding) {
	for _, name := range s.variables {
		if slices.Contains(c.Profile.Withheld, name) {
			found = append(found, names.AttributeVariable(c, sure, name, s.program+" reads the variable "+name+", which is set but not granted"))
		}
	}
	var wanted []grants.Grant
	for _, place := range s.places {
		path := filepath.Join(c.Evidence.UserHome, place)
		if real := c.Canonical(path); c.Exists(real) == facts.Present && !c.Allows(policy.OpRead, real) {
			wanted = append(wanted, grants.Grant{Path: path, Rights: policy.Read | ruleRights(c, real)})
		}
	}
	if len(wanted) == 0 || c.Evidence.UserHome == "" {
		return found
	}
	var first []string
	if socket := filepath.Join(c.Evidence.UserHome, s.socket); s.socket != "" {
		wanted = append(wanted, grants.Grant{Path: socket, Rights: policy.Update | ruleRights(c, socket)})
		if c.Exists(socket) == facts.Absent {
			first = append(first, "run `"+s.makes+"`")
		}
	}
	path := wanted[0].Path
	cause := s.program + " looks for " + c.Show(path) + ", which is not granted"
	if _, private := privatePath(c, path); private {
		cause = s.program + " looks for " + c.Show(path) + ": the server sees its private HOME in place of yours, and that is not in it"
	}
	f := withhold(c, attributeInHome(c, sure, path, policy.Read, cause), false)
	if f.NoLine && IsSensitive(c, c.Canonical(path)) {
		f = f.Unfixable(sensitiveFix(c, path, "a mere message of the server", wanted...))
	}
	if first = append(first, inTheWay(c, wanted)...); len(first) > 0 {
		f.Fix = report.Joined(f.Fix, "before that, "+strings.Join(first, ", and "))
	}
	return append(found, f)
}

// loginWords are words, in lower case, of a server that lacks a login or settings of its own.
var loginWords = []string{
	"not authenticated", "unauthenticated", "not logged in", "not signed in", "login required", "log in first", "login first", "sign in first", "please log in", "please login", "please sign in", "please authenticate",
	"authenticate first", "authentication required", "not authorized yet", "no credentials", "credentials not found", "missing credentials", "credentials are missing", "no token", "token not found", "missing token", "no api key",
	"api key not found", "not configured", "no configuration", "no config", "configuration not found", "config not found", "config file not found", "no account", "no profile", "not initialized", "run setup", "run auth", "auth login",
}

// setupCommand finds the program in the command that a message tells the user to run.
var setupCommand = lazy.Regexp("(?i)(?:[`'\"]|\\brun:? +)([a-z][a-z0-9_-]{2,30}) +(?:(?:auth|account|user) +)?(?:login|log-in|signin|sign-in|init|auth|authenticate|configure|config|setup)\\b")

// AnalyzeOwnSettings returns the directory in the user's home that has the server's name, if a line
// says that the server lacks a login or settings, or the name of the program that the line tells the
// user to set up. The directory is not granted.
func AnalyzeOwnSettings(c *facts.Case, line string) facts.Finding {
	if c.Evidence.UserHome == "" {
		return facts.Finding{}
	}
	if m := setupCommand().FindStringSubmatch(line); m != nil && !slices.Contains(plainWords, strings.ToLower(m[1])) {
		if f := ownSettings(c, line, "the name of that program", strings.ToLower(m[1])); f.Refused {
			return f
		}
	}
	if !said.ContainsAny(strings.ToLower(line), loginWords) {
		return facts.Finding{}
	}
	return ownSettings(c, line, "the server's name", serverNames(c)...)
}

func ownSettings(c *facts.Case, line, whose string, names ...string) facts.Finding {
	for _, name := range names {
		for _, place := range []string{"." + name, "." + name + "-mcp", ".mcp-" + name, ".config/" + name, ".config/" + name + "-mcp", ".config/mcp-" + name, ".local/share/" + name} {
			path := filepath.Join(c.Evidence.UserHome, place)
			real := c.Canonical(path)
			if c.Exists(real) != facts.Present || c.Allows(policy.OpRead, real) || IsTooWide(c, real) || slices.Contains(sharedPaths, place) {
				continue
			}
			cause := c.ServerSaid(line) + "; your " + c.Show(path) + ", which has " + whose + ", is not granted"
			return withhold(c, attributeInHome(c, report.Possible, path, policy.Read, cause), false)
		}
	}
	return facts.Finding{}
}

// serverNames returns the names that a server may have given its directory, from its package and its
// program: gmail-autoauth, gmail and autoauth for server-gmail-autoauth-mcp.
func serverNames(c *facts.Case) (all []string) {
	for _, arg := range c.Profile.Argv[:min(len(c.Profile.Argv), 4)] {
		base := filepath.Base(arg)
		if _, inside, ok := strings.Cut(arg, "/node_modules/"); ok {
			if base, _, _ = strings.Cut(strings.TrimPrefix(inside, "@"), "/"); strings.HasPrefix(inside, "@") {
				_, rest, _ := strings.Cut(inside, "/")
				base, _, _ = strings.Cut(rest, "/")
			}
		} else if strings.HasPrefix(arg, "-") {
			continue
		}
		base, _, _ = strings.Cut(base, "@")
		words := slices.DeleteFunc(wordsOf(strings.TrimSuffix(base, filepath.Ext(base))), func(word string) bool { return slices.Contains(plainWords, word) })
		if len(words) > 0 {
			all = append(append(all, strings.Join(words, "-")), slices.DeleteFunc(words, func(word string) bool { return len(word) < 3 })...)
		}
	}
	return all
}

// inTheWay says which files of the private HOME have the place of what is to be granted.
func inTheWay(c *facts.Case, wanted []grants.Grant) (remove []string) {
	for _, g := range wanted {
		if private, ok := privatePath(c, g.Path); ok && c.Exists(private) == facts.Present && c.Exists(private+"/.") != facts.Present && c.Canonical(private) == private {
			remove = append(remove, "remove "+c.Show(private)+", which the server has in its place")
		}
	}
	return remove
}
