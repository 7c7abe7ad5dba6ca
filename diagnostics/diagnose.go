package diagnostics

// Diagnose turns evidence into a diagnosis. It is pure: it reads no file, no
// clock and no environment.
func Diagnose(ev Evidence) Diagnosis {
	return Diagnosis{Code: CodeDied, Stage: ev.Stage, Attribution: None, Server: ev.Server, Tool: ev.Tool}
}
