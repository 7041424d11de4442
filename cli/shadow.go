package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"fairlead.dev/fairlead/report"
	"fairlead.dev/fairlead/shadow"
)

// This file reports the recording of a shadow: a replay is compared as the shadow compared what it recorded.

// reportShadow replays the files, one after the other, and prints how the two sides compare; as JSON if there is a path.
func reportShadow(out io.Writer, path string, files []string, by replayer) error {
	c := shadow.New(time.Time{})
	for _, file := range files {
		in, err := os.Open(file)
		if err != nil {
			return err
		}
		result, err := c.Replay(in, file, by.policyOf)
		if err := errors.Join(hinted(err), in.Close()); err != nil {
			return err
		}
		if result.Difference != nil {
			return fmt.Errorf("the replay decides differently, so that there is nothing to compare\n%s", result.Difference.Text(report.Printable))
		}
	}
	found := c.Report()
	if found.Sums.Decided+found.Sums.Bound == 0 {
		return errors.New("nobody decided or was bound in this recording; is it a shadow's?")
	}
	if path == "" {
		return found.Write(out)
	}
	to, err := createOutput(path, out)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(found, "", "  ")
	if err == nil {
		_, err = to.Write(append(text, '\n'))
	}
	if err != nil {
		return errors.Join(err, to.Discard())
	}
	return to.Commit()
}
