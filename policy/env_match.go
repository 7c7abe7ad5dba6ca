package policy

import (
	"fmt"
	"strings"
)

// CheckVariable validates the exact name of a variable.
func CheckVariable(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("the name is empty")
	case strings.Contains(name, "=") && !strings.HasPrefix(name, "="): // the value may be a secret
		return fmt.Errorf("a value is given after the name %q: write the name alone, and set the value where mcp-jail is started, such as in the env of the client's entry", Abbreviate(name[:strings.IndexByte(name, '=')]))
	case strings.ContainsAny(name, "=\x00\r\n"):
		return fmt.Errorf("%q is not the name of a variable", Abbreviate(name))
	case strings.Contains(name, "*"):
		return fmt.Errorf("%q: only access.env takes a prefix; here names are exact", Abbreviate(name))
	case len(name) > 1024:
		return fmt.Errorf("the name is longer than 1024 bytes")
	}
	return nil
}

// CheckEnvName validates the name of an env rule, whose only wildcard is a "*" at
// its end.
func CheckEnvName(name string) error {
	if literal, ok := strings.CutSuffix(name, "*"); ok {
		if strings.Contains(literal, "*") {
			return fmt.Errorf("%q: the only wildcard is one trailing \"*\"", Abbreviate(name))
		}
		if literal == "" {
			return nil
		}
		name = literal
	} else if strings.Contains(name, "*") {
		return fmt.Errorf("%q: the only wildcard is one trailing \"*\"", Abbreviate(name))
	}
	return CheckVariable(name)
}

// AuthorityVariables name a file of certificate authorities: to node, to OpenSSL and what uses it, to
// Python's requests, curl, git, pip, Deno, cargo and the SDKs of AWS, and to most programs of NixOS.
var AuthorityVariables = []string{
	"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
	"PIP_CERT", "DENO_CERT", "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE", "NIX_SSL_CERT_FILE",
}

// MatchEnv evaluates the env rules for one variable. ok is true where a rule forwards it and none refuses it. rule is
// the one that refuses, or one that forwards it: an exact one, if there is one. A prefix does not forward an
// [IsDangerousVariable] name.
func MatchEnv(rules []EnvRule, name string) (rule EnvRule, ok bool) {
	for _, r := range rules {
		switch exact := r.Name == name; {
		case !exact && (!EnvIncludes(r.Name, name) || r.Read && IsDangerousVariable(name)):
		case !r.Read:
			return r, false
		case exact || !ok:
			rule, ok = r, true
		}
	}
	return rule, ok
}

// IsDangerousVariable reports whether a variable makes a program load or run other code
// than it would otherwise. Only an exact rule forwards such a variable, with a
// warning (docs/policy.md "Environment rules").
func IsDangerousVariable(name string) bool {
	switch name {
	case "NODE_OPTIONS", "NODE_PATH", "NODE_REPL_EXTERNAL_MODULE",
		"PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONINSPECT", "PYTHONBREAKPOINT", "PYTHONPLATLIBDIR", "PYTHONEXECUTABLE", "PYTHONPYCACHEPREFIX", "PYTHONWARNINGS",
		"PERL5OPT", "PERL5LIB", "PERLLIB", "PERL5DB", "RUBYOPT", "RUBYLIB", "RUBYSHELL", "RUBYGEMS_GEMDEPS", "BUNDLE_GEMFILE", "GEM_PATH", "GEM_HOME",
		"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "IFS", "CDPATH", "ZDOTDIR", "FPATH",
		"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "MAVEN_OPTS", "GRADLE_OPTS",
		"GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "GIT_EXTERNAL_DIFF", "GIT_EDITOR", "GIT_PAGER", "GIT_ASKPASS", "GIT_PROXY_COMMAND", "GIT_SEQUENCE_EDITOR", "GIT_DIR", "GIT_COMMON_DIR",
		"SSH_ASKPASS", "EDITOR", "VISUAL", "PAGER", "BROWSER", "LESSOPEN", "LESSCLOSE", "MANPAGER",
		"LUA_INIT", "LUA_PATH", "LUA_CPATH", "PHPRC", "PHP_INI_SCAN_DIR", "R_PROFILE", "R_ENVIRON", "ERL_LIBS", "ERL_FLAGS", "ELIXIR_ERL_OPTIONS", "JULIA_LOAD_PATH",
		"DOTNET_STARTUP_HOOKS", "CORECLR_PROFILER_PATH", "CORECLR_PROFILER", "CORECLR_ENABLE_PROFILING", "COMPLUS_PROFAPI_PROFILERCOMPATIBILITYSETTING",
		"GCONV_PATH", "LOCPATH", "NLSPATH", "HOSTALIASES", "MALLOC_TRACE", "RESOLV_HOST_CONF", "TZDIR", "GETCONF_DIR", "GLIBC_TUNABLES",
		"OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES", "GTK_MODULES", "GTK_PATH", "QT_PLUGIN_PATH", "GIO_EXTRA_MODULES", "GIO_MODULE_DIR", "GST_PLUGIN_PATH",
		"GUILE_LOAD_PATH", "TCLLIBPATH", "VIMINIT", "EXINIT", "ELECTRON_RUN_AS_NODE", "BUN_OPTIONS",
		"CARGO_HOME", "RUSTUP_HOME", "CARGO_BUILD_RUSTC_WRAPPER", "CARGO_BUILD_RUSTC", "CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTC", "RUSTDOC", "GOFLAGS", "GOENV", "CC", "CXX",
		"MAKEFLAGS", "MAKEFILES", "GNUMAKEFLAGS", "TAR_OPTIONS", "RSYNC_RSH", "DENO_DIR", "BUN_INSTALL",
		"WSL_INTEROP", "WSLENV", // by which WSL has Windows start programs
		"RUSTFLAGS", "GOTOOLCHAIN", "YARN_RC_FILENAME", "CVS_RSH", "SVN_SSH", "SVN_EDITOR", "HGRCPATH", "HGEDITOR", "PERL5SHELL", "PYTEST_ADDOPTS", "PYTEST_PLUGINS",
		"BASH_LOADABLES_PATH", "SUDO_EDITOR", "SYSTEMD_PAGER", "SYSTEMD_EDITOR", "BAT_PAGER", "GH_PAGER", "GH_EDITOR", "GH_BROWSER", "PSQLRC", "PSQL_PAGER", "PSQL_EDITOR",
		"FZF_DEFAULT_COMMAND", "RIPGREP_CONFIG_PATH", "MAGICK_CODER_MODULE_PATH", "MAGICK_CONFIGURE_PATH", "OCL_ICD_VENDORS", "VK_ICD_FILENAMES", "VK_DRIVER_FILES",
		"VK_LAYER_PATH", "LIBVA_DRIVERS_PATH", "LIBGL_DRIVERS_PATH", "GBM_BACKENDS_PATH", "JAVA_OPTS", "SBT_OPTS", "ANT_OPTS", "COMPILER_PATH", "GCC_EXEC_PREFIX",
		"DEVELOPER_DIR", "TOOLCHAINS", "CFNETWORK_LIBRARY_PATH", "PKG_CONFIG", "PLTADDONDIR", "EMACSLOADPATH", "CAML_LD_LIBRARY_PATH", "IPYTHONDIR":
		return true
	}
	for _, prefix := range [...]string{"LD_", "DYLD_", "__XPC_", "GIT_SSH", "GIT_CONFIG", "npm_config_node_options", "npm_config_script_shell", "npm_config_shell", "NPM_CONFIG_NODE_OPTIONS", "NPM_CONFIG_SCRIPT_SHELL", "npm_config_userconfig", "npm_config_globalconfig", "NPM_CONFIG_USERCONFIG", "NPM_CONFIG_GLOBALCONFIG", "BASH_FUNC_", "LUA_INIT_", "LUA_PATH_", "LUA_CPATH_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return strings.HasPrefix(name, "CARGO_TARGET_") && (strings.HasSuffix(name, "_RUNNER") || strings.HasSuffix(name, "_LINKER"))
}

// LooksLikeSecret reports whether a variable has the name of a secret. Its value is redacted
// in output even if a prefix rule forwards it, like that of a variable granted by name.
func LooksLikeSecret(name string) bool {
	upper := strings.ToUpper(name)
	for _, part := range [...]string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "AUTH", "COOKIE", "SESSION"} {
		if strings.Contains(upper, part) {
			return true
		}
	}
	return strings.HasSuffix(upper, "_KEY") || strings.HasSuffix(upper, "_PAT") || strings.HasSuffix(upper, "_PASS") || strings.HasSuffix(upper, "_DSN")
}

// TextEncoding is the variable in which macOS keeps the encoding of the user's language. Without it, each
// program would look for ~/.CFUserTextEncoding.
const TextEncoding = "__CF_USER_TEXT_ENCODING"

// IsMinimalVariable reports whether every server gets the variable.
func IsMinimalVariable(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ", "TMPDIR", TextEncoding:
		return true
	}
	return strings.HasPrefix(name, "LC_")
}
