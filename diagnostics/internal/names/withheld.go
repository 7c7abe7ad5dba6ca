package names

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/policy"
)

// purposes are variables that lead programs to a socket, a file or credentials, each group with the
// words, in lower case, of those programs when they find none. The programs name no variable.
var purposes = []struct {
	variables []string
	what      string
	words     []string
}{
	{[]string{"SSH_AUTH_SOCK"}, "which names the socket of the ssh agent",
		[]string{"authentication agent", "ssh agent", "ssh-agent", "agent has no identities", "permission denied (publickey", "could not open a connection to your auth", "agent refused", "no supported authentication methods"}},
	{[]string{"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG"}, "which names the Docker daemon",
		[]string{"docker daemon", "docker.sock", "docker api", "connect to docker", "docker is not running", "docker engine", "docker host"}},
	{[]string{"CONTAINER_HOST"}, "which names the Podman service", []string{"connect to podman", "podman.sock", "podman service"}},
	{[]string{"KUBECONFIG"}, "which names the configuration of kubectl",
		[]string{"kubeconfig", "kube config", "current-context", "localhost:8080 was refused", "localhost:8080: connect", "no configuration has been provided", "kubernetes cluster unreachable", "connect to kubernetes", "connect to the kubernetes", "load_kube_config", "invalid configuration: no configuration"}},
	{[]string{"GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG", "GOOGLE_CLOUD_PROJECT"}, "which is for Google Cloud",
		[]string{"default credentials", "google.auth", "google cloud credential", "googleauth", "application default", "gcloud auth", "project id from environment", "unable to detect a project id", "project was not passed and could not be determined"}},
	{[]string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN"}, "which is for AWS",
		[]string{"unable to locate credentials", "could not load credentials from any providers", "nocredentialproviders", "no valid credential sources", "no credential providers", "failed to refresh cached credentials", "nocredentialserror", "credentialsprovidererror", "aws credentials", "aws configure", "aws sso login", "no ec2 imds", "failed to retrieve credentials", "get credentials", "credentials could not be found", "partialcredentials"}},
	{[]string{"AWS_REGION", "AWS_DEFAULT_REGION"}, "which is for AWS", []string{"region is missing", "specify a region", "noregionerror", "missing region", "invalid aws region", "could not find region", "an aws region is required"}},
	{[]string{"AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_TENANT_ID", "AZURE_CONFIG_DIR", "AZURE_SUBSCRIPTION_ID"}, "which is for Azure", []string{"defaultazurecredential", "environmentcredential", "azureclicredential", "az login", "azure credential"}},
	{[]string{"GH_TOKEN", "GITHUB_TOKEN"}, "which is for GitHub", []string{"gh auth login", "gh_token", "bad credentials", "could not read username for 'https://github.com", "github authentication", "requires authentication"}},
	{[]string{"GITLAB_TOKEN", "GITLAB_PERSONAL_ACCESS_TOKEN"}, "which is for GitLab", []string{"glab auth login", "could not read username for 'https://gitlab"}},
	{[]string{"NPM_TOKEN", "NODE_AUTH_TOKEN"}, "which is for npm", []string{"npm login", "npm adduser", "code e401", "code eneedauth"}},
	{[]string{"PGPASSWORD", "PGPASSFILE", "PGUSER"}, "which is for PostgreSQL", []string{"no password supplied", "client password must be a string", "password authentication failed"}},
	{[]string{"MYSQL_PWD"}, "which is for MySQL", []string{"(using password: no)"}},
	{[]string{"VAULT_TOKEN", "VAULT_ADDR"}, "which is for Vault", []string{"missing client token", "vault login", "vault token"}},
	{[]string{"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}, "which is for Hugging Face", []string{"huggingface-cli login", "hf auth login", "gated repo"}},
	{[]string{"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"}, "which names the display", []string{"cannot open display", "can't open display", "missing x server", "no display", "couldn't connect to display", "unable to open x display"}},
	{[]string{"DBUS_SESSION_BUS_ADDRESS"}, "which names the session bus of the keyring and the desktop",
		[]string{"d-bus", "dbus", "failed to connect to bus", "keyring", "secret service", "secretservice", "libsecret", "org.freedesktop.secrets", "no recommended backend was available"}},
	{[]string{"PYTHONPATH"}, "where Python looks for modules", []string{"modulenotfounderror", "no module named"}},
	{[]string{"NODE_PATH"}, "where node looks for modules", []string{"cannot find module"}},
	{[]string{"CLASSPATH"}, "where Java looks for classes", []string{"could not find or load main class", "classnotfoundexception", "noclassdeffounderror"}},
	{[]string{"RUBYLIB", "GEM_PATH", "GEM_HOME"}, "where Ruby looks for libraries", []string{"cannot load such file", "could not find gem"}},
	{[]string{"LD_LIBRARY_PATH"}, "where programs look for libraries", []string{"error while loading shared libraries", "cannot open shared object file"}},
	{[]string{"JAVA_HOME"}, "which names Java", []string{"unable to locate a java runtime", "no java runtime"}},
	{[]string{"ANDROID_HOME", "ANDROID_SDK_ROOT"}, "which names the Android SDK", []string{"android sdk", "sdk location not found"}},
}

const maxWithheld = 3

// keyEndings end the name of a variable that holds a key. What is before them is the service.
var keyEndings = []string{"_API_KEY", "_API_TOKEN", "_ACCESS_TOKEN", "_AUTH_TOKEN", "_BOT_TOKEN", "_PERSONAL_ACCESS_TOKEN", "_SECRET_KEY", "_TOKEN", "_APIKEY", "_KEY", "_PASSWORD", "_SECRET", "_CREDENTIALS", "_PAT"}

// keyWords, in lower case, are how programs and services say that a key is missing.
var keyWords = []string{
	"unauthorized", "unauthenticated", "not authenticated", "not authorized", "authentication required", "authentication failed", "requires authentication", "not logged in",
	"no api key", "missing api key", "api key is", "api key not", "api key required", "api_key", "apikey", "api-key", "provide an api key", "invalid api key", "no token", "missing token", "token is required", "token not", "token required", "access token", "auth token", "no credentials", "missing credentials", "credentials not", "login required",
}

// WithheldFor returns the withheld variables that the words of a failure ask for without their name:
// a few, and why each is one. A group of which one is granted is not asked for.
func WithheldFor(c *facts.Case, lines []string) (all []facts.Finding) {
	add := func(sure report.Attribution, name, what string) {
		if slices.Contains(c.Profile.Withheld, name) && !slices.ContainsFunc(all, func(f facts.Finding) bool { return f.Grant.Variable == name }) {
			all = append(all, AttributeVariable(c, sure, name, "the variable "+name+", "+what+", is set but not granted"))
		}
	}
	for _, line := range lines {
		lower := strings.ToLower(line)
		for _, p := range purposes {
			if said.ContainsAny(lower, p.words) && !slices.ContainsFunc(p.variables, func(name string) bool { return has(c, name) }) {
				sure := report.Likely
				if strings.HasPrefix(p.what, "where ") { // more often the thing is missing
					sure = report.Possible
				}
				for _, name := range p.variables {
					add(sure, name, p.what)
				}
			}
		}
	}
	for i, line := range lines {
		for _, name := range fieldNames(lines, i) {
			add(report.Likely, strings.ToUpper(name), "which the server's message asks for")
			for _, held := range c.Profile.Withheld {
				if strings.HasSuffix(held, "_"+strings.ToUpper(name)) && len(name) > 3 && isService(c, strings.TrimSuffix(held, "_"+strings.ToUpper(name))) {
					add(report.Possible, held, "which is named like the field "+name+" that the server asks for")
				}
			}
		}
		if !said.ContainsAny(strings.ToLower(line), keyWords) && !said.Unauthorized(line) {
			continue
		}
		for _, held := range c.Profile.Withheld {
			for _, ending := range keyEndings {
				service, ok := strings.CutSuffix(held, ending)
				if !ok {
					continue
				}
				if (isService(c, service) || said.MentionsWord(lines, firstWord(service))) && !slices.ContainsFunc(keyEndings, func(other string) bool { return has(c, service+other) }) {
					add(report.Possible, held, "which is named like a key for this service")
				}
				break
			}
		}
	}
	// A name in the words, or what is surely meant, is closer than the name of the server.
	closer := func(f facts.Finding) bool {
		return f.Hint.Attribution == report.Likely || said.MentionsWord(lines, firstWord(f.Grant.Variable))
	}
	if slices.ContainsFunc(all, closer) {
		all = slices.DeleteFunc(all, func(f facts.Finding) bool { return !closer(f) })
	}
	return all[:min(len(all), maxWithheld)]
}

// has reports whether the server has a variable, or mcp-jail its secret.
func has(c *facts.Case, name string) bool {
	return slices.ContainsFunc(c.Profile.Env, func(v policy.Variable) bool { return v.Name == name })
}

// isService reports whether the beginning of a variable's name is what the server is for: its name,
// its program or package, or a granted host.
func isService(c *facts.Case, service string) bool {
	if service = firstWord(service); len(service) < 3 {
		return false
	}
	about := []string{c.Evidence.Server}
	for _, arg := range c.Profile.Argv[:min(len(c.Profile.Argv), 4)] {
		about = append(about, path.Base(arg))
	}
	for _, r := range c.Profile.Net {
		if r.Allow {
			about = append(about, r.Host)
		}
	}
	return slices.ContainsFunc(about, func(s string) bool { return strings.Contains(strings.ToLower(s), service) })
}

func firstWord(name string) string {
	word, _, _ := strings.Cut(strings.ToLower(strings.Trim(name, "_")), "_")
	return word
}

// fieldNames returns the field that a line names alone, where the line after it says that it is
// missing, as pydantic does. Lines are in the order of relevance, so that one comes before.
func fieldNames(lines []string, i int) []string {
	name := strings.TrimSpace(lines[i])
	if i == 0 || !said.IsVariable(name) || !said.ContainsAny(strings.ToLower(lines[i-1]), []string{"field required", "type=missing"}) {
		return nil
	}
	return []string{name}
}
