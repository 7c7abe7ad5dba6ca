package said

import (
	"slices"
	"strings"
)

// distrusted are words of TLS libraries, in lower case, that they found no authority that they trust
// for a certificate.
var distrusted = []string{
	// OpenSSL's reasons and node's codes for them
	"unable to get local issuer certificate", "unable to get issuer certificate", "unable to verify the first certificate",
	"unable to verify leaf signature", "self-signed certificate", "self signed certificate", "certificate not trusted",
	"unable_to_get_issuer_cert", "unable_to_verify_leaf_signature", "self_signed_cert_in_chain", "depth_zero_self_signed_cert", "cert_untrusted",
	"certificate verify failed", "certificate_verify_failed", "sslcertverificationerror", // Python, Ruby, PHP, Perl
	"ssl certificate problem", "curl: (60)", "curl: (77)", "error setting certificate verify locations", "error setting certificate file", // curl, git
	"certificate signed by unknown authority", "x509: failed to load system roots", "certificate is not trusted", // Go
	"pkix path building failed", "suncertpathbuilderexception", "unable to find valid certification path", "trustanchors parameter must be non-empty", // Java
	"unknownissuer", "invalid peer certificate", "unknown issuer", // rustls, webpki
	"certificate issuer is unknown", "the certificate is not trusted", "server certificate verification failed",
	"doesn't have a known issuer", "certificate verification failed", // GnuTLS, wget
	"remote certificate is invalid", "untrustedroot", "partialchain", "the remote certificate was rejected", // .NET
	"err_cert_authority_invalid", "unknown certificate authority", "sec_error_unknown_issuer", "peer's certificate issuer", // browsers
}

// otherFaults are words, in lower case, that a certificate is refused for another reason than its
// authority. No variable helps then.
var otherFaults = []string{
	"has expired", "cert_has_expired", "certificate expired", "notvalidyet", "not yet valid", "hostname mismatch", "ip address mismatch",
	"doesn't match", "does not match", "is valid for", "notvalidforname", "not valid for", "altname", "remotecertificatenamemismatch", "revoked",
}

// DistrustsAuthority reports whether a line says that no trusted authority vouches for a certificate.
func DistrustsAuthority(line string) bool {
	lower := strings.ToLower(line)
	return ContainsAny(lower, distrusted) && !ContainsAny(lower, otherFaults)
}

// authority is who verifies certificates, and the variables in which it is told of further
// authorities, the usual one first.
type authority struct {
	programs  []string // base names without a version; nil if it is known by its words alone
	words     []string // in lower case, that it alone writes
	variables []string
}

// The first whose words are in a line verified. If no words tell, the program that runs decides.
var authorities = []authority{
	{[]string{"git"}, []string{"unable to access 'http"}, []string{"GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "SSL_CERT_FILE", "SSL_CERT_DIR"}},
	{[]string{"curl"}, []string{"curl: (", "ssl certificate problem", "error setting certificate"}, []string{"CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO"}},
	{[]string{"aws"}, []string{"botocore", "ssl validation failed"}, []string{"AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"}},
	{[]string{"pip", "pipx"}, []string{"pip's", "pip is configured", "could not fetch url"}, []string{"PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"}},
	{nil, []string{"requests.exceptions", "httpsconnectionpool", "max retries exceeded"}, []string{"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"}},
	{[]string{"java"}, []string{"pkix", "certpath", "valid certification path", "trustanchors"}, []string{"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"}},
	{nil, []string{"x509: "}, []string{"SSL_CERT_FILE", "SSL_CERT_DIR"}}, // Go
	{[]string{"node", "nodejs", "npm", "npx", "tsx", "bun", "bunx"}, []string{"unable_to_verify_leaf_signature", "self_signed_cert_in_chain", "depth_zero_self_signed_cert", "unable_to_get_issuer_cert", "cert_untrusted"}, []string{"NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA"}},
	{[]string{"deno"}, nil, []string{"DENO_CERT", "DENO_TLS_CA_STORE"}},
	{[]string{"uv", "uvx"}, nil, []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS"}},
	{[]string{"cargo"}, nil, []string{"CARGO_HTTP_CAINFO", "SSL_CERT_FILE"}},
	{[]string{"python", "pypy", "uvicorn", "ruby", "php", "perl", "dotnet"}, nil, []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}},
}

// libraries are the variables of TLS libraries that several kinds of programs have, by their words.
var libraries = []authority{
	{nil, []string{"unknownissuer", "invalid peer certificate", "unknown issuer"}, []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "DENO_CERT", "DENO_TLS_CA_STORE", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS", "CARGO_HTTP_CAINFO"}}, // rustls
	{nil, verifyFailed, []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}},
	{nil, []string{"server certificate verification failed", "certificate issuer is unknown"}, []string{"GIT_SSL_CAINFO", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"}}, // GnuTLS
	{nil, []string{"remote certificate", "untrustedroot", "partialchain"}, []string{"SSL_CERT_FILE", "SSL_CERT_DIR"}},                                                         // .NET
}

// bareReasons are reasons of OpenSSL in lower case. node writes them alone; other programs write
// verifyFailed before them.
var (
	bareReasons  = []string{"issuer certificate", "the first certificate", "self-signed certificate", "self signed certificate"}
	verifyFailed = []string{"certificate verify failed", "certificate_verify_failed", "sslcertverificationerror"}
)

// AuthorityVariables returns the variables that name further certificate authorities to the program
// that wrote a line. The usual variable comes first. program is the base name of the server's program.
func AuthorityVariables(line, program string) []string {
	lower := strings.ToLower(line)
	for _, a := range authorities {
		if a.words != nil && ContainsAny(lower, a.words) {
			return a.variables
		}
	}
	program = strings.TrimRight(strings.TrimSuffix(strings.ToLower(program), ".exe"), "0123456789.")
	bare := ContainsAny(lower, bareReasons) && !ContainsAny(lower, verifyFailed)
	for _, a := range authorities {
		switch ofNode := slices.Contains(a.programs, "node"); {
		case bare && ofNode && slices.Contains(a.programs, program):
			return a.variables
		case bare && ofNode:
			return append(slices.Clone(a.variables), "SSL_CERT_FILE", "SSL_CERT_DIR")
		}
	}
	for _, a := range authorities {
		if slices.Contains(a.programs, program) {
			return a.variables
		}
	}
	for _, a := range libraries {
		if ContainsAny(lower, a.words) {
			return a.variables
		}
	}
	return []string{"SSL_CERT_FILE", "SSL_CERT_DIR"}
}

// AllAuthorityVariables returns every variable that names further authorities to some program.
func AllAuthorityVariables() (all []string) {
	for _, a := range slices.Concat(authorities, libraries) {
		for _, name := range a.variables {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

const trustStore = "-Djavax.net.ssl.trustStore="

// AuthorityFile returns the file or directory of authorities that the value of such a variable names;
// "" if it names none, such as "1", or the options of java for something else.
func AuthorityFile(name, value string) string {
	if name == "JAVA_TOOL_OPTIONS" || name == "JDK_JAVA_OPTIONS" {
		for _, option := range strings.Fields(value) {
			if file, ok := strings.CutPrefix(strings.Trim(option, `"'`), trustStore); ok {
				return strings.Trim(file, `"'`)
			}
		}
		return ""
	}
	if strings.HasPrefix(value, "/") {
		return value
	}
	return ""
}
