package step

// stepError carries what a step worked on.
type StepError struct {
	Detail string
	err    error
}

func (e *StepError) Error() string { return e.Detail + ": " + e.err.Error() }

func (e *StepError) Unwrap() error { return e.err }

func On(what string, err error) error {
	if err == nil {
		return nil
	}
	return &StepError{what, err}
}
