package confine

import "context"

// awaitReport waits for a report, or for the end of ctx. It reports whether a report came: one that is there
// counts, even if ctx has ended meanwhile.
func awaitReport(ctx context.Context, report <-chan error) (came bool, err error) {
	select {
	case err = <-report:
		return true, err
	case <-ctx.Done():
	}
	select {
	case err = <-report:
		return true, err
	default:
		return false, nil
	}
}
