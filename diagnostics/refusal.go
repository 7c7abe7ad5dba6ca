package diagnostics

// ConfigFailure is the diagnosis of a configuration that has an error. message
// is the error as it is printed; only its first line goes into the frame's message.
func ConfigFailure(server, message string) Diagnosis {
	return Diagnosis{Code: CodeConfig, Stage: StageExec, Attribution: Certain, Server: server, What: message}
}

// JailFailure is the diagnosis of a jail that this host cannot build. gaps holds
// one line for each gap that is not waived.
func JailFailure(server, message string, gaps []string) Diagnosis {
	return Diagnosis{Code: CodeJail, Stage: StageExec, Attribution: Certain, Server: server, What: message}
}
